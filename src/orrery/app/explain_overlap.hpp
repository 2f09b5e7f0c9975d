// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What waiting later would save, site by site: each answer is a run of the changed graph.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/app/explain_exposure.hpp"
#include "orrery/app/explain_run.hpp"

namespace orrery::app {

/// Computing that could be done while a site's communication is under way.
struct IndependentWork {
  std::string what;  ///< As the trace says; "" where it does not.
  Duration time{};   ///< Recorded, of all calls of all ranks.
};

struct OverlapSite {
  std::uint32_t site = 0;
  workload::Rank most_rank = 0;            ///< With the most independent computing.
  Duration independent{};                  ///< Of that rank, all calls.
  Duration again{};                        ///< Likewise.
  std::vector<IndependentWork> work{};     ///< Longest first.
  std::optional<std::int64_t> total_ps{};  ///< With its waits moved; absent when that was not tried.
  std::optional<std::int64_t>
      at_most_ps{};      ///< What could be saved if all computing before the next operation could go.
  std::string reason{};  ///< Why nothing is saved; "" when something is.
};

struct Overlap {
  bool has_dataflow = false;                  ///< The trace says what is independent.
  std::vector<OverlapSite> sites{};           ///< All, by what is saved, then by what could be.
  std::optional<std::int64_t> together_ps{};  ///< Total with all that save something moved.
};

struct OverlapSetup {
  const ExplainCauses& causes;
  const ExplainRunner& runner;
  const std::vector<ExposedSite>& exposed;
  std::size_t most = 0;        ///< Sites to try, the most exposed first.
  bool is_as_recorded = true;  ///< Computing takes its recorded time; else parts of it have no time.
};

[[nodiscard]] Overlap find_overlap(const OverlapSetup& setup);

}  // namespace orrery::app
