// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Trace files as a workload, read as it is asked for.
#include <string>

#include "orrery/chakra/node.hpp"
#include "orrery/chakra/trace_files.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::chakra {

/// Groups of a trace, and which of them each rank means: a name may stand for different groups on different ranks.
struct TraceGroups {
  workload::Groups groups{};
  /// [rank][name in its file] = name in `groups`, where they differ.
  std::vector<std::map<std::string, std::string>> renamed{};
};

/// From the comm-group file (when named; it counts before the others) and from the metadata nodes of all files.
[[nodiscard]] TraceGroups find_groups(const TraceFiles& files, const std::string& comm_group_file,
                                      const Limits& limits = {});

/// The operations of a file, folder or prefix (see find_traces). Groups and peers that do not exist are an InputError
/// when the operation is read. Operations have their tensors if wanted: finding them takes as long as all the rest.
[[nodiscard]] workload::Workload open_traces(const std::string& path, const std::string& comm_group_file = {},
                                             const Limits& limits = {}, bool has_tensors = false);

}  // namespace orrery::chakra
