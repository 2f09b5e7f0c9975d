// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/timeline_file.hpp"

#include <string_view>

#include "orrery/base/error.hpp"
#include "orrery/timeline/spans_csv.hpp"
#include "orrery/timeline/trace_json.hpp"

namespace orrery::timeline {
namespace {

bool has_format(std::string_view path, std::string_view ending) {
  constexpr std::string_view kCompressed = ".gz";
  if (path.ends_with(kCompressed)) path.remove_suffix(kCompressed.size());
  return path.ends_with(ending);
}

}  // namespace

void check_timeline_path(const std::string& path) {
  if (has_format(path, ".json") || has_format(path, ".csv")) return;
  throw InputError{InputProblem{.source = path,
                                .position = {},
                                .field = {},
                                .value = {},
                                .expected = "expected a name that ends in .json, .json.gz, .csv or .csv.gz",
                                .nearest = {}}};
}

void write_timeline(const Recorder& recorder, const Manifest& manifest, const std::string& path) {
  check_timeline_path(path);
  if (has_format(path, ".csv")) return write_spans_csv(recorder, manifest, path);
  write_trace_json(recorder, manifest, path);
}

}  // namespace orrery::timeline
