// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How we want our memory.
#include <malloc.h>

#include <algorithm>
#include <vector>

namespace orrery {

/// Large vectors that grow stay in the heap instead of going back to the system each time: page faults were a
/// third of a simulation of 65,000 transfers. Call first thing in main(); only speed changes.
inline void prepare_heap() {
  constexpr int kNeverGiveBack = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kNeverGiveBack);
  mallopt(M_TRIM_THRESHOLD, kNeverGiveBack);
}

/// Room for `more` elements; grows at least twofold, so that calling it again and again stays cheap.
template <class T>
void reserve_more(std::vector<T>& items, std::size_t more) {
  const std::size_t wanted = items.size() + more;
  if (wanted > items.capacity()) items.reserve(std::max(wanted, 2 * items.capacity()));
}

}  // namespace orrery
