// SPDX-License-Identifier: Apache-2.0
// Loads and stores: latency plus size over bandwidth. A rank's own memory serves it at once; a node's memory and a
// pool serve one request at a time, first come, first served.
#include <fmt/format.h>

#include "orrery/astra/machine.hpp"

namespace orrery::astra {

void Machine::issue_memory(std::uint32_t rank, std::uint32_t index, const Step& step) {
  if (inputs_.memory.kind == MemoryKind::kAbsent) {
    throw InputError{fmt::format("rank {}: {}: the memory file says NO_MEMORY_EXPANSION", rank,
                                 describe_step(rank, step))};
  }
  if (inputs_.memory.kind == MemoryKind::kPerNpu) {
    use_memory(kNone, rank, index, step.size);
    return;
  }
  const std::uint32_t number =
      inputs_.memory.kind == MemoryKind::kPool ? 0 : rank / inputs_.memory.npus_per_node;
  if (memories_[number].is_busy) {
    memories_[number].waiting.push_back({.rank = rank, .step = index, .size = step.size});
    return;
  }
  memories_[number].is_busy = true;
  use_memory(number, rank, index, step.size);
}

void Machine::use_memory(std::uint32_t number, std::uint32_t rank, std::uint32_t index, std::uint64_t size) {
  const double transfer = static_cast<double>(size) / static_cast<double>(inputs_.memory.bandwidth);
  const std::uint64_t duration = inputs_.memory.latency + static_cast<std::uint64_t>(transfer);
  plan(rank, duration, {.kind = Callback::Kind::kStep, .subject = index});
  if (number != kNone) plan(rank, duration, {.kind = Callback::Kind::kMemory, .subject = number});
}

void Machine::memory_is_free(std::uint32_t number) {
  Memory& memory = memories_[number];
  memory.is_busy = !memory.waiting.empty();
  if (!memory.is_busy) return;
  const MemoryRequest request = memory.waiting.front();
  memory.waiting.pop_front();
  use_memory(number, request.rank, request.step, request.size);
}

}  // namespace orrery::astra
