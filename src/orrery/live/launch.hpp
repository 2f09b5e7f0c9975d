// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How the processes of a run are started: which words, which environment.
#include <string>
#include <vector>

#include "orrery/live/run.hpp"

namespace orrery::live {

struct Launch {
  std::vector<std::string> words;
  std::vector<std::string> environment;  ///< "NAME=value".
};

/// `address` is the coordinator's, `control` the launcher's descriptor, `outputs` those of TaggedOutput or none.
/// InputError when a part of Orrery or the program is missing.
[[nodiscard]] Launch plan_launch(const RunOptions& options, const std::string& address, int control,
                                 const std::vector<int>& outputs);

}  // namespace orrery::live
