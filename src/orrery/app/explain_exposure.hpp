// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which communication ranks wait for with nothing to compute, by site.
///
/// When a rank begins to compute again, the operations that let it go on are followed back to where it stopped
/// computing: each is exposed for its part of the gap. Until the last member of it came, others were waited for; from
/// then on bytes.
#include <cstdint>
#include <vector>

#include "orrery/app/explain_cause.hpp"

namespace orrery::app {

/// What one rank, or the mean one, had of a site.
struct ExposedTime {
  Duration waiting{};   ///< Exposed: others were not there.
  Duration transfer{};  ///< Exposed: bytes were under way.
  Duration hidden{};    ///< Bytes were under way and the rank computed.
  [[nodiscard]] Duration exposed() const { return waiting + transfer; }
};

struct ExposedSite {
  std::uint32_t site = 0;         ///< Of ExplainGraph::sites().
  std::uint64_t calls = 0;        ///< Of the rank with most.
  std::uint32_t ranks = 0;        ///< That call it.
  workload::Rank worst_rank = 0;  ///< With the most exposed time; the lowest of several.
  ExposedTime worst{};
  ExposedTime sum{};  ///< Over the ranks that call it.
  [[nodiscard]] Duration mean(Duration ExposedTime::* part) const {
    return ranks == 0 ? Duration{} : sum.*part / static_cast<std::int64_t>(ranks);
  }
};

/// Every site, by the worst rank's exposed time, longest first.
[[nodiscard]] std::vector<ExposedSite> exposed_sites(const ExplainCauses& causes);

}  // namespace orrery::app
