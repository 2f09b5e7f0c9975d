// SPDX-License-Identifier: Apache-2.0
// Bruck (Bruck et al., 1997): ceil(log2(n)) steps for any n. all_gather with the least bytes; all_to_all in which
// each block takes one step per bit of its distance, so about log2(n)/2 times the bytes of direct: for short
// messages. The barrier of the same pattern is the dissemination barrier (Hensgen, Finkel and Manber, 1988).
// Bytes on the wire: all_gather (n-1)S; all_to_all the sum over (i,j) of its bytes times the bits set in j-i mod n;
// barrier n ceil(log2(n)) tokens.
#include <fmt/format.h>

#include <bit>

#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/dissemination.hpp"
#include "orrery/collectives/plan/stored_schedule.hpp"

namespace orrery::collectives::plan {

namespace {

// all_to_all lists n^2 log2(n) / 2 chunk ids: 92 MB at this size.
constexpr Rank kMaxAllToAll = 2048;

/// What rank `holder` sends in `step`: every block whose distance has that bit. Lower bits are travelled already.
std::vector<std::uint32_t> travelling(Rank holder, std::uint32_t step, Rank ranks) {
  std::vector<std::uint32_t> chunks;
  const Rank bit = Rank{1} << step;
  for (Rank distance = bit; distance < ranks; ++distance) {
    if ((distance & bit) == 0) continue;
    const Rank source = behind(holder, distance & (bit - 1), ranks);
    chunks.push_back(source * ranks + ahead(source, distance, ranks));
  }
  return chunks;
}

std::unique_ptr<Schedule> plan_all_to_all(Rank ranks) {
  auto schedule = std::make_unique<StoredSchedule>(ranks, ranks * ranks);
  std::vector<ChunkRange> sent(ranks);
  for (std::uint32_t step = 0; step < dissemination_steps(ranks); ++step) {
    const Rank distance = Rank{1} << step;
    for (Rank rank = 0; rank < ranks; ++rank) {
      sent[rank] = schedule->name(travelling(rank, step, ranks));
      schedule->send(rank, ahead(rank, distance, ranks), sent[rank]);
    }
    for (Rank rank = 0; rank < ranks; ++rank) {
      const Rank source = behind(rank, distance, ranks);
      schedule->receive(rank, source, sent[source]);
    }
  }
  return schedule;
}

std::unique_ptr<Schedule> plan_bruck(const PlanRequest& request) {
  using Purpose = Dissemination::Purpose;
  if (request.operation == Operation::kAllToAll) return plan_all_to_all(request.ranks);
  return std::make_unique<Dissemination>(
      request.ranks, request.operation == Operation::kBarrier ? Purpose::kBarrier : Purpose::kAllGather);
}

std::string refuse_bruck(const PlanRequest& request) {
  const bool is_large = request.operation == Operation::kAllToAll && request.ranks > kMaxAllToAll;
  return is_large ? fmt::format("all_to_all takes at most {} ranks", kMaxAllToAll) : "";
}

Bytes bruck_bytes(const PlanRequest& request, const Layout& layout) {
  const Rank ranks = request.ranks;
  if (request.operation == Operation::kAllGather) return total_bytes(layout) * (ranks - 1);
  if (request.operation == Operation::kBarrier) {
    return total_bytes(layout) * ranks * dissemination_steps(ranks);
  }
  Bytes sum;
  for (Rank source = 0; source < ranks; ++source) {
    for (Rank distance = 1; distance < ranks; ++distance) {
      const std::uint32_t chunk = source * ranks + ahead(source, distance, ranks);
      sum += block_bytes(layout, chunk, ranks * ranks) * std::popcount(distance);
    }
  }
  return sum;
}

}  // namespace

Algorithm bruck() {
  return {
      .name = "bruck",
      .help = "Doubling distances around the circle; log2(n) steps for any n.",
      .operations = {Operation::kAllGather, Operation::kAllToAll, Operation::kBarrier},
      .refusal = refuse_bruck,
      .plan = plan_bruck,
      .wire_bytes = bruck_bytes,
  };
}

}  // namespace orrery::collectives::plan
