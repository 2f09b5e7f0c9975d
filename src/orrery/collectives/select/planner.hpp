// SPDX-License-Identifier: Apache-2.0
#pragma once
/// From a collective that a program calls to what is run for it, remembered: programs call the same ones again and
/// again.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "orrery/collectives/select/selector.hpp"

namespace orrery::collectives {

/// Everything a CollectiveRun needs that does not depend on when it runs.
struct Plan {
  Choice choice;
  std::shared_ptr<const Schedule> schedule;
  Layout layout;
  std::shared_ptr<const CollectiveRun::Wiring> wiring;  ///< Null when it is too large to be kept.
};

class Planner {
 public:
  struct Setup {
    const topology::Cluster& cluster;
    topology::Router& router;
    std::string algorithm;  ///< As select() takes it.
    std::string fallback;   ///< "gloo" or "nccl": for what `algorithm` cannot do.
    std::string catalog;
    std::map<Operation, std::string> algorithm_of{};  ///< Instead of `algorithm` for these.
  };
  explicit Planner(Setup setup);

  /// `group` tells groups apart; the same number always comes with the same ranks. InputError when nothing can run it.
  [[nodiscard]] std::shared_ptr<const Plan> plan(std::uint64_t group, std::span<const topology::NodeId> nodes,
                                                 std::span<const Rank> ranks,
                                                 const CollectiveRequest& request);

 private:
  [[nodiscard]] Choice choose(const CollectiveRequest& request, const SelectionContext& context) const;

  Setup setup_;
  AlgorithmRegistry algorithms_;
  std::unordered_map<std::string, std::shared_ptr<const Plan>> plans_;
};

}  // namespace orrery::collectives
