// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The chain of operations that the total consists of, from the end back to the start.
///
/// A step of computing began when its predecessor ended. A step of communication goes from the call of the member that
/// came last to its end, and the chain goes on with what let that member call. So steps follow each other without a gap
/// and add up to the total.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/app/explain_cause.hpp"

namespace orrery::app {

enum class StepKind : std::uint8_t {
  kCompute,
  kPause,  ///< Sleeps and waits that are as long on every device.
  kCommunication,
  kMemory,
  kIdle,  ///< Nothing of the trace says why it was waited.
};
[[nodiscard]] std::string_view to_text(StepKind kind);

struct PathStep {
  StepKind kind = StepKind::kCompute;
  std::string site;
  workload::Rank rank = 0;       ///< Whose operation it is.
  workload::Rank from_rank = 0;  ///< Of communication: who came last; else the same.
  std::uint64_t id = 0;
  Time begin{};
  Time end{};
};

/// Steps that belong together.
struct PathShare {
  StepKind kind = StepKind::kCompute;
  std::string site{};  ///< "" where all of a kind are summed up.
  Duration time{};
  std::uint64_t steps = 0;
};

struct CriticalPath {
  std::vector<PathStep> steps;   ///< In the order of time; those that took no time are left out.
  std::vector<PathShare> kinds;  ///< Longest first.
  std::vector<PathShare> sites;  ///< Likewise.
};

[[nodiscard]] CriticalPath critical_path(const ExplainCauses& causes);

}  // namespace orrery::app
