// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which files make up a trace: `<prefix>.<rank>.et`, one per rank.
#include <optional>
#include <string>
#include <vector>

#include "orrery/workload/op.hpp"

namespace orrery::chakra {

struct TraceFiles {
  std::string name;                ///< Of the trace: the prefix without its folder.
  std::vector<std::string> paths;  ///< By rank.
  /// When one file was named: the rank that its name says. Its peers are then not looked for.
  bool is_single = false;
  std::optional<workload::Rank> single_rank{};
};

/// `path` is a file, a folder that holds one trace, or a prefix. Of several forms of the same trace (.et, .et.gz,
/// .json, .json.gz) the first counts. InputError when nothing is found, when a folder holds several traces (they are
/// listed), or when ranks between 0 and the highest one are missing (they are named).
[[nodiscard]] TraceFiles find_traces(const std::string& path);

}  // namespace orrery::chakra
