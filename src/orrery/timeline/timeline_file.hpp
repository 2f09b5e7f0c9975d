// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One call for every format, chosen by the file's name.
#include <string>

#include "orrery/timeline/manifest.hpp"
#include "orrery/timeline/recorder.hpp"

namespace orrery::timeline {

/// InputError unless `path` ends in .json, .json.gz, .csv or .csv.gz. Call it before a long run.
void check_timeline_path(const std::string& path);
void write_timeline(const Recorder& recorder, const Manifest& manifest, const std::string& path);

}  // namespace orrery::timeline
