// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How much later than another a rank may come to an exchange of gloo's that both still share: the question of the
/// first, which it asks when it has copied its own part, must not have arrived yet. See collectives::Asking.
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/topology/operation_costs.hpp"

namespace orrery::app {

/// A call to which one rank came so much later, and how long it took from then on. In picoseconds.
struct LateCall {
  std::int64_t size = 0;  ///< The whole buffer.
  double delay = 0;
  double time = 0;
};

/// In picoseconds, and per byte of the whole buffer.
struct Notice {
  double base = 0;
  double per_byte = 0;
  bool is_never = false;  ///< Late calls take no longer than others, as in one host's memory.
};

/// The line over sizes that sorts most of the calls into those that take as long as when all come together and those
/// that take as long as when one comes last. Nothing when there are too few of them.
[[nodiscard]] std::optional<Notice> find_notice(const std::vector<LateCall>& calls);

/// As a cluster file has it: beside the latency, in seconds. Results in blocks that malloc maps anew each time make the
/// copy of the own part longer, by `fresh` picoseconds per byte of the whole buffer.
[[nodiscard]] topology::CostCurve notice_curve(const Notice& notice, double latency, double fresh = 0);

}  // namespace orrery::app
