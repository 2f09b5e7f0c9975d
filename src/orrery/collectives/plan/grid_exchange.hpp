// SPDX-License-Identifier: Apache-2.0
#pragma once
/// All-to-all over a grid, one dim after another: in each, a rank exchanges with all others of its line whatever must
/// get to their coordinate. A block moves once per dim in which source and target differ.
#include "orrery/collectives/plan/grid.hpp"

namespace orrery::collectives::plan {

/// The schedule lists n^2 chunk ids per dim: at this size 17 MB for each.
inline constexpr Rank kMaxGridExchange = 2048;

[[nodiscard]] std::unique_ptr<Schedule> plan_grid_exchange(const Grid& grid);
[[nodiscard]] Bytes grid_exchange_bytes(const Grid& grid, const Layout& layout);

}  // namespace orrery::collectives::plan
