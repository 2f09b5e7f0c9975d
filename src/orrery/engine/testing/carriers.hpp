// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a scenario on one of the three carriers of processes, and says all that can be observed.
#include <string>
#include <vector>

#include "orrery/engine/testing/scenario.hpp"

namespace orrery::engine::testing {

enum class Carrier { kCoroutines, kThreads, kProcesses };
inline constexpr Carrier kCarriers[] = {Carrier::kCoroutines, Carrier::kThreads, Carrier::kProcesses};

struct CarrierOptions {
  std::uint32_t concurrency = 1;
  std::uint64_t disturb = 0;  ///< Seed of random sleeps and yields of the programs; 0: none.
  bool pin = false;           ///< Program i stays on core i.
  bool may_drop = false;      ///< Places are the host's to give.
  std::uint64_t rounds_per_instant = 1U << 20;
};

struct Outcome {
  std::uint64_t digest = 0;
  std::uint64_t executed = 0;
  std::int64_t end = 0;
  std::string error;  ///< Empty when all went well.
  std::vector<std::vector<Entry>> logs;
  bool operator==(const Outcome&) const = default;
};

[[nodiscard]] Outcome run_scenario(const Scenario& scenario, Carrier carrier,
                                   const CarrierOptions& options = {});

}  // namespace orrery::engine::testing
