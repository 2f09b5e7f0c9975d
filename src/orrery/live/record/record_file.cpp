// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/record/record_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"

namespace orrery::live {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 31;
constexpr std::uint32_t kMostRanks = 1 << 16;
constexpr std::string_view kMagic = "orrery-record 1";

class Reader {
 public:
  explicit Reader(std::string path) : path_{std::move(path)} {}

  RealRank read() {
    const std::string text = read_file(path_, kLargestFile);
    std::string_view rest = text;
    if (take_line(rest) != kMagic) {
      fail("no record of a real run; expected a first line '" + std::string{kMagic} + "'");
    }
    while (!rest.empty() && !has_ended_) line(take_line(rest));
    if (!has_ended_) fail("ends too early; expected a last line 'end'");
    if (result_.world == 0 || result_.world > kMostRanks || result_.rank >= result_.world) {
      fail(fmt::format("rank {} of {}", result_.rank, result_.world));
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw InputError{{.source = path_,
                      .position = {.line = line_, .column = 0},
                      .field = {},
                      .value = {},
                      .expected = why,
                      .nearest = {}}};
  }

  std::string_view take_line(std::string_view& rest) {
    ++line_;
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return line;
  }

  std::int64_t number(std::string_view text) const {
    const auto value = parse_integer(text);
    if (!value) fail(fmt::format("'{}' is no whole number", text));
    return *value;
  }

  void line(std::string_view text) {
    const std::size_t blank = text.find(' ');
    const std::string_view key = text.substr(0, blank);
    const std::string_view value = blank == std::string_view::npos ? "" : text.substr(blank + 1);
    if (key == "op") return operation(value);
    if (key == "blocked") return result_.blocked.push_back(stretch(value));
    if (key == "sleep") return result_.sleeps.push_back(stretch(value));
    if (key == "group") return group(value);
    if (key == "end") return static_cast<void>(has_ended_ = true);
    if (key == "host") return static_cast<void>(result_.host = value);
    if (key == "clock") return static_cast<void>(result_.clock = value);
    if (key == "rank") return static_cast<void>(result_.rank = static_cast<std::uint32_t>(number(value)));
    if (key == "world") return static_cast<void>(result_.world = static_cast<std::uint32_t>(number(value)));
    if (key == "fifo") return static_cast<void>(result_.is_fifo = number(value) != 0);
    const std::array<std::pair<std::string_view, std::int64_t*>, 4> times{{{"start", &result_.start},
                                                                           {"begin", &result_.begin},
                                                                           {"finish", &result_.finish},
                                                                           {"status", &result_.status}}};
    for (const auto& [name, target] : times) {
      if (key == name) return static_cast<void>(*target = number(value));
    }
    fail(fmt::format("unknown line '{}'", key));
  }

  void operation(std::string_view text) {
    constexpr std::size_t kFields = 10;
    std::vector<std::string_view> words;
    while (words.size() + 1 < kFields) {
      const std::size_t blank = text.find(' ');
      if (blank == std::string_view::npos) fail("an operation with too few fields");
      words.push_back(text.substr(0, blank));
      text.remove_prefix(blank + 1);
    }
    RealOperation one;
    one.name = words[0];
    one.group = static_cast<std::uint32_t>(number(words[1]));
    one.sequence = static_cast<std::uint64_t>(number(words[2]));
    one.peer = static_cast<std::int32_t>(number(words[3]));
    one.bytes = number(words[4]);
    one.posted = number(words[5]);
    one.returned = number(words[6]);
    one.done = number(words[7]);
    one.has_failed = number(words[8]) != 0;
    one.where = text;
    if (one.group >= result_.groups.size()) fail(fmt::format("there is no group {}", one.group));
    result_.operations.push_back(std::move(one));
  }

  RealStretch stretch(std::string_view text) const {
    const std::vector<std::string_view> words = split(text, ' ');
    if (words.size() != 3) fail("expected begin, end and operation");
    const RealStretch one{.begin = number(words[0]), .end = number(words[1]), .operation = number(words[2])};
    if (one.operation >= static_cast<std::int64_t>(result_.operations.size())) {
      fail(fmt::format("there is no operation {}", one.operation));
    }
    return one;
  }

  void group(std::string_view text) {
    const std::vector<std::string_view> words = split(text, ' ');
    RealGroup one;
    one.name = words[0];
    for (std::size_t i = 1; i < words.size(); ++i) {
      one.ranks.push_back(static_cast<std::uint32_t>(number(words[i])));
    }
    if (one.ranks.empty()) fail("a group without ranks; expected at least one");
    result_.groups.push_back(std::move(one));
  }

  std::string path_;
  int line_ = 0;
  bool has_ended_ = false;
  RealRank result_;
};

}  // namespace

RealRank read_record_file(const std::string& path) { return Reader{path}.read(); }

std::vector<RealRank> read_record_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<RealRank> ranks;
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator{folder, problem}) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("rank.") && name.ends_with(".record")) {
      ranks.push_back(read_record_file(entry.path()));
    }
  }
  if (problem) throw InputError{fmt::format("{}: {}; expected a folder of recordings", folder, problem.message())};
  if (ranks.empty()) throw InputError{fmt::format("{}: no rank.N.record of a real run in it", folder)};
  std::ranges::sort(ranks, {}, &RealRank::rank);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].world != ranks.size() || ranks[i].rank != i) {
      throw InputError{fmt::format("{}: {} files of a run with {} ranks; expected one of each rank", folder,
                                   ranks.size(), ranks[i].world)};
    }
  }
  return ranks;
}

}  // namespace orrery::live
