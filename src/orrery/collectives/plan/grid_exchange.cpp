// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/grid_exchange.hpp"

#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/stored_schedule.hpp"

namespace orrery::collectives::plan {

namespace {

/// In dim `dim`, `holder` sends its line mate `target` all blocks for ranks with the target's coordinate there. It
/// has those of sources that differ from it in earlier dims only, for ranks that agree with it in earlier dims.
std::vector<std::uint32_t> travelling(const Grid& grid, std::size_t dim, Rank holder, Rank target) {
  const std::uint32_t stride = grid.stride(dim);
  const std::uint32_t block = stride * grid.size(dim);
  const Rank first_source = holder - holder % stride;
  const Rank first_goal = target % block - target % stride + holder % stride;
  std::vector<std::uint32_t> chunks;
  for (Rank source = first_source; source < first_source + stride; ++source) {
    for (Rank goal = first_goal; goal < grid.ranks(); goal += block) {
      chunks.push_back(source * grid.ranks() + goal);
    }
  }
  return chunks;
}

}  // namespace

std::unique_ptr<Schedule> plan_grid_exchange(const Grid& grid) {
  const Rank ranks = grid.ranks();
  auto schedule = std::make_unique<StoredSchedule>(ranks, ranks * ranks);
  std::vector<ChunkRange> sent;
  for (std::size_t dim = 0; dim < grid.dims(); ++dim) {
    const std::uint32_t size = grid.size(dim);
    const auto mate = [&](Rank rank, std::uint32_t distance) {
      return grid.moved(rank, dim, ahead(grid.coordinate(rank, dim), distance, size));
    };
    sent.clear();
    for (Rank rank = 0; rank < ranks; ++rank) {
      for (std::uint32_t distance = 1; distance < size; ++distance) {
        const Rank target = mate(rank, distance);
        sent.push_back(schedule->name(travelling(grid, dim, rank, target)));
        schedule->send(rank, target, sent.back());
      }
    }
    for (Rank rank = 0; rank < ranks; ++rank) {
      for (std::uint32_t distance = 1; distance < size; ++distance) {
        const Rank source = mate(rank, size - distance);
        schedule->receive(rank, source, sent[source * (size - 1) + distance - 1]);
      }
    }
  }
  return schedule;
}

Bytes grid_exchange_bytes(const Grid& grid, const Layout& layout) {
  Bytes sum;
  for (Rank source = 0; source < grid.ranks(); ++source) {
    for (Rank target = 0; target < grid.ranks(); ++target) {
      std::int64_t moves = 0;
      for (std::size_t dim = 0; dim < grid.dims(); ++dim) {
        if (grid.coordinate(source, dim) != grid.coordinate(target, dim)) ++moves;
      }
      sum += block_bytes(layout, source * grid.ranks() + target, grid.ranks() * grid.ranks()) * moves;
    }
  }
  return sum;
}

}  // namespace orrery::collectives::plan
