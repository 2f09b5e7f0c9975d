// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The timeline in the Trace Event format (JSON), which the Perfetto UI and chrome://tracing open.
///
/// A track group is a process, a row a thread, a span an "X" event, a flow an "s" and an "f" event, a counter
/// value a "C" event. Rows stand in the order the tracks were created. The manifest is in "otherData".
#include <string>

#include "orrery/timeline/manifest.hpp"
#include "orrery/timeline/recorder.hpp"

namespace orrery::timeline {

/// gzip when `path` ends in ".gz"; the viewers read that too.
void write_trace_json(const Recorder& recorder, const Manifest& manifest, const std::string& path);

}  // namespace orrery::timeline
