// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Real launches as a result, and the folder it is written to: the format of a simulated run's.
#include "orrery/app/real_run.hpp"

namespace orrery::app {

[[nodiscard]] LiveResult real_result(const std::vector<live::RealTimeline>& launches,
                                     const RealOptions& options);

/// result.json, events.csv (of the median launch) and manifest.json; nothing when `folder` is "".
void write_real(const LiveResult& result, const std::vector<live::RealTimeline>& launches,
                const std::string& folder);

}  // namespace orrery::app
