// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Exchanges whose directions shared the link, and those whose directions followed each other although the ranks came
/// together: threads woke late, or copied for longer. All to all takes twice as long then, and gathering, which gloo
/// does in halves, one and a half times. The simulation knows that of ranks that come apart, so what is fitted must not
/// have it in it.
#include <cstdint>
#include <vector>

#include "orrery/app/calibrate_plan.hpp"

namespace orrery::app {

/// Times of the calls of one probe, in picoseconds, by launch.
using Launches = std::vector<std::vector<double>>;

[[nodiscard]] std::vector<double> pooled(const Launches& launches);

/// What the link takes for a byte, from long messages; infinite without any. One entry of `times` per probe.
[[nodiscard]] double pace_of(const std::vector<Probe>& probes, const std::vector<Launches>& times);

/// Whether it is one, and its calls are fitted. See collectives::Asking.
[[nodiscard]] bool is_exchange(const Probe& probe);
/// By each rank.
[[nodiscard]] double received_bytes(const Probe& probe, std::int64_t ranks);

/// Leaves the calls whose directions shared the link, none of them where hardly a call's did. `shared`: what the link
/// takes for one direction. `least`: what the operation takes without any data to speak of; where that is not little
/// beside it, two modes are noise, and all calls stay.
void leave_shared(double shared, double least, Launches& launches);

}  // namespace orrery::app
