// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Process groups: as PyTorch's tracer leaves them in metadata nodes, and as ASTRA-sim's comm-group files list them.
#include <string>
#include <string_view>
#include <vector>

#include "orrery/chakra/node.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::chakra {

struct ProcessGroup {
  std::string name;
  std::vector<workload::Rank> ranks{};  ///< Empty = all.
};

/// The groups that a metadata node names in its inputs; none when it is about something else. The text may be JSON, or
/// JSON inside a Python list of strings, as the tracers write it. Nothing is thrown for text of other kinds.
[[nodiscard]] std::vector<ProcessGroup> process_groups(const Node& node);

/// A file {"1": [0, 1], "2": [2, 3]}. InputError unless every name has a list of distinct ranks below `ranks`.
[[nodiscard]] workload::Groups read_comm_groups(const std::string& path, workload::Rank ranks);

}  // namespace orrery::chakra
