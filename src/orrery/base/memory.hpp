// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a program of ours wants its heap.
#include <malloc.h>

namespace orrery {

/// Large vectors that grow stay in the heap instead of going back to the system each time: page faults were a
/// third of a simulation of 65,000 transfers. Call first thing in main(); only speed changes.
inline void prepare_heap() {
  constexpr int kNeverGiveBack = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kNeverGiveBack);
  mallopt(M_TRIM_THRESHOLD, kNeverGiveBack);
}

}  // namespace orrery
