// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The spans of a timeline as a table, for scripts.
#include <string>

#include "orrery/timeline/manifest.hpp"
#include "orrery/timeline/recorder.hpp"

namespace orrery::timeline {

/// Columns group, track, name, begin_ps, end_ps, detail; rows as recorded.
void write_spans_csv(const Recorder& recorder, const Manifest& manifest, const std::string& path);

}  // namespace orrery::timeline
