// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What simulating a schedule costs, told before it is run.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orrery/collectives/select/selector.hpp"

namespace orrery::collectives {

/// Every message is sent once and received once: half the actions.
[[nodiscard]] std::uint64_t count_messages(const Schedule& schedule);

/// Messages, of which those that a rank sends in a row before it waits count once for each of them: they share
/// links, and each one's end changes the rates of the others. So k in a row count k * k. Counting stops at `limit`.
[[nodiscard]] std::uint64_t effort_of(const Schedule& schedule, std::uint64_t limit);

/// Keeps algorithms that would take minutes out of a comparison nobody asked to be complete.
class EffortBudget {
 public:
  EffortBudget(const AlgorithmRegistry& algorithms, std::uint64_t limit)
      : algorithms_{algorithms}, limit_{limit} {}

  /// Drops what is above the limit; the one with the fewest messages stays when all are.
  void apply(std::vector<Choice>& choices);
  struct Dropped {
    std::string algorithm;
    std::uint64_t messages = 0;  ///< At most, over all calls.
  };
  /// What apply() dropped, by name.
  [[nodiscard]] std::vector<Dropped> dropped() const;

 private:
  struct Cost {
    std::uint64_t messages = 0;
    bool is_above = false;
  };
  [[nodiscard]] const Cost& cost_of(const Choice& choice);

  const AlgorithmRegistry& algorithms_;
  std::uint64_t limit_;
  std::map<std::pair<std::string, std::uint32_t>, Cost> costs_;  // By algorithm and pieces: sizes share them.
  std::map<std::string, std::uint64_t> dropped_;
};

}  // namespace orrery::collectives
