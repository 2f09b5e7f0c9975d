// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/trace_files.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <map>
#include <system_error>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::chakra {
namespace {

namespace fs = std::filesystem;
using workload::Rank;

/// In order of preference.
constexpr std::array<std::string_view, 4> kEndings{".et", ".et.gz", ".json", ".json.gz"};
constexpr std::int64_t kMostRanks = 1 << 22;

struct Parsed {
  std::string prefix;
  Rank rank = 0;
  std::size_t ending = 0;
};

/// "all_reduce.3.et" in its parts.
std::optional<Parsed> parse_name(std::string_view name) {
  for (std::size_t i = 0; i < kEndings.size(); ++i) {
    if (!name.ends_with(kEndings.at(i))) continue;
    const std::string_view stem = name.substr(0, name.size() - kEndings.at(i).size());
    const std::size_t dot = stem.rfind('.');
    if (dot == std::string_view::npos || dot == 0) continue;
    const std::string_view digits = stem.substr(dot + 1);
    const auto rank = parse_integer(digits);
    if (!rank || *rank < 0 || *rank >= kMostRanks || fmt::format("{}", *rank) != digits) continue;
    return Parsed{std::string{stem.substr(0, dot)}, static_cast<Rank>(*rank), i};
  }
  return std::nullopt;
}

/// Traces of a folder by prefix, then form, then rank.
using Found = std::map<std::string, std::map<std::size_t, std::map<Rank, std::string>>>;

Found look_in(const fs::path& folder) {
  Found found;
  std::error_code error;
  fs::directory_iterator entry{folder, error};
  for (; !error && entry != fs::directory_iterator{}; entry.increment(error)) {
    if (const auto parsed = parse_name(entry->path().filename().string())) {
      found[parsed->prefix][parsed->ending][parsed->rank] = entry->path().string();
    }
  }
  if (error) {
    throw InputError{{.source = folder.string(),
                      .position = {},
                      .field = {},
                      .value = {},
                      .expected = "cannot read the folder: " + error.message(),
                      .nearest = {}}};
  }
  return found;
}

[[noreturn]] void fail(const std::string& path, std::string expected, std::string nearest = {}) {
  throw InputError{{.source = path,
                    .position = {},
                    .field = {},
                    .value = {},
                    .expected = std::move(expected),
                    .nearest = std::move(nearest)}};
}

std::vector<std::string> names_of(const Found& found) {
  std::vector<std::string> names;
  for (const auto& [name, forms] : found) names.push_back(name);
  return names;
}

TraceFiles complete(const std::string& path, const std::string& prefix,
                    const std::map<Rank, std::string>& ranks) {
  constexpr std::size_t kShown = 8;
  TraceFiles files{.name = prefix, .paths = {}};
  std::vector<std::string> missing;
  const Rank last = ranks.rbegin()->first;
  std::size_t missing_count = 0;
  for (Rank rank = 0; rank <= last; ++rank) {
    const auto found = ranks.find(rank);
    if (found != ranks.end()) {
      files.paths.push_back(found->second);
    } else if (++missing_count <= kShown) {
      missing.push_back(fmt::format("{}", rank));
    }
  }
  if (missing_count > 0) {
    fail(path,
         fmt::format("files of rank {}{} are missing: the highest rank found is {} ({})", join(missing, ", "),
                     missing_count > kShown ? ", ..." : "", last, ranks.rbegin()->second));
  }
  return files;
}

TraceFiles single(const std::string& path) {
  const std::string name = fs::path{path}.filename().string();
  TraceFiles files{.name = name, .paths = {path}, .is_single = true};
  if (const auto parsed = parse_name(name)) {
    files.name = parsed->prefix;
    files.single_rank = parsed->rank;
  }
  return files;
}

}  // namespace

TraceFiles find_traces(const std::string& path) {
  if (path.empty()) fail("trace", "expected a trace: a file, a folder, or a prefix");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    const Found found = look_in(path);
    if (found.empty()) fail(path, "no trace in this folder: expected files <prefix>.<rank>.et from rank 0");
    if (found.size() > 1) {
      fail(path, fmt::format("several traces in this folder; name one: {}", join(names_of(found), ", ")));
    }
    return complete(path, found.begin()->first, found.begin()->second.begin()->second);
  }
  if (fs::exists(status)) return single(path);
  const fs::path parent = fs::path{path}.parent_path();
  const std::string prefix = fs::path{path}.filename().string();
  const fs::path folder = parent.empty() ? fs::path{"."} : parent;
  if (!fs::is_directory(folder, error)) fail(path, "no such file, and no such folder either");
  const Found found = look_in(folder);
  const auto forms = found.find(prefix);
  if (forms == found.end()) {
    fail(path,
         fmt::format("no such trace: expected a file, a folder, or files {}.<rank>.et from rank 0", prefix),
         nearest_name(prefix, names_of(found)));
  }
  return complete(path, prefix, forms->second.begin()->second);
}

}  // namespace orrery::chakra
