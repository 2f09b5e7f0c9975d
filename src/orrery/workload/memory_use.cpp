// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/memory_use.hpp"

#include <algorithm>
#include <map>

namespace orrery::workload {

void MemoryUse::finish(Rank rank, std::uint64_t id, Time begin, Time end) {
  RankTensors& own = ranks_[rank];
  if (own.expected.empty()) return;
  const auto found = own.expected.find(id);
  if (found == own.expected.end()) return;
  for (const TensorUse& use : found->second) {  // What it reads comes first.
    const Life born{.size = use.size, .from = use.is_written ? begin : Time{}};
    Life& life = own.lives.try_emplace(use.tensor, born).first->second;
    if (begin < life.from) life.from = born.from;  // On another stream, a longer one may have begun before.
    life.size = std::max(life.size, use.size);
    life.to = std::max(life.to, end);
    life.is_read = life.is_read || !use.is_written;
  }
  own.expected.erase(found);
}

std::vector<MemoryStep> MemoryUse::steps(Rank rank) const {
  std::map<Time, std::uint64_t> changes;  // Modulo 2^64, as a tensor's end takes away what its begin has added.
  for (const auto& [tensor, life] : ranks_[rank].lives) {
    const auto size = static_cast<std::uint64_t>(life.size.count());
    changes[life.from] += size;
    if (life.is_read) changes[life.to] -= size;
  }
  std::vector<MemoryStep> steps;
  std::uint64_t bytes = 0;
  for (const auto& [at, change] : changes) {
    bytes += change;
    if (change != 0) steps.push_back({at, Bytes{static_cast<std::int64_t>(bytes)}});
  }
  return steps;
}

}  // namespace orrery::workload
