// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/generate.hpp"

#include <fmt/format.h>

#include <memory>

#include "orrery/workload/generate/layout.hpp"
#include "orrery/workload/generate/rank_source.hpp"

namespace orrery::workload::generate {

Workload make_workload(const Recipe& recipe) {
  auto shared = std::make_shared<const Recipe>(recipe);
  constexpr const char* kModes[] = {"train", "prefill", "decode"};
  std::string name =
      fmt::format("{}-{}-tp{}-pp{}-dp{}", recipe.model.name, kModes[static_cast<std::size_t>(recipe.mode)],
                  recipe.tp, recipe.pp, recipe.dp);
  if (recipe.ep > 1) name += fmt::format("-ep{}", recipe.ep);
  if (recipe.cp > 1) name += fmt::format("-cp{}", recipe.cp);
  return {.name = std::move(name),
          .ranks = recipe.ranks(),
          .groups = all_groups(recipe),
          .open = [shared](Rank rank) { return std::make_unique<RankSource>(shared, rank); }};
}

}  // namespace orrery::workload::generate
