// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A made-up ring all-reduce of four ranks for tests and for looking at: every kind of row, odd picoseconds,
/// nesting, spans that overlap on a link, arrows and counters.
#include "orrery/timeline/manifest.hpp"
#include "orrery/timeline/recorder.hpp"

namespace orrery::timeline::test {

void record_ring(Recorder& recorder);
[[nodiscard]] Manifest ring_manifest();

}  // namespace orrery::timeline::test
