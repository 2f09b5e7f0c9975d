// SPDX-License-Identifier: Apache-2.0
// An operation under way is work of the rank's own core: gloo's threads copy, send and add up. Who computes meanwhile
// computes longer. What an operation takes is known when it ends: from then on the rank is later than it said, with
// everything it posts and with its next request. It sees that in its clock when it is answered.
#include <algorithm>
#include <cmath>
#include <ranges>

#include "orrery/live/operation_text.hpp"
#include "orrery/live/service.hpp"

namespace orrery::live {
namespace {

/// What an operation takes is known to a tenth of it or so: that it leaves less than that of the core is never certain,
/// and a few microseconds of computing would seem to last as long as the operation.
constexpr double kMostOfCore = 0.9;

}  // namespace

bool LiveService::comes_later(const Post& what) {
  const Duration more = ranks_[what.rank].stolen - what.shift;
  orrery_op& op = operation(what.offset, what.rank);
  if (more <= Duration{} || op.on_device != 0) return false;
  op.posted_ps += more.count();
  const std::uint64_t number = next_post_++;
  posts_.emplace(number, Post{what.rank, what.offset, ranks_[what.rank].stolen});
  schedule(setup_.engine.now() + more, Event::kPost, number, what.rank);
  return true;
}

bool LiveService::comes_later(std::uint32_t rank) {
  const Rank& asker = ranks_[rank];
  const Time due = asker.requested + asker.stolen;
  if (due <= setup_.engine.now()) return false;
  schedule(due, Event::kRequest, rank, rank);
  return true;
}

void LiveService::steal(std::uint32_t rank, const orrery_op& op, const Ending& ending) {
  Rank& owner = ranks_[rank];
  const topology::DeviceSpec& device = setup_.cluster.devices[setup_.cluster.device_of_rank[rank]];
  if (op.on_device != 0 || device.overlap_costs == topology::OperationCosts{}) return;
  const bool waits = owner.waits != Waits::kNothing;
  const bool is_message = op.kind == ORRERY_SEND || op.kind == ORRERY_RECEIVE;
  const std::string_view name = is_message ? "send_recv" : collectives::to_text(operation_of(op));
  // Alone, all of a call is work of the core.
  const bool is_alone = topology::knows_alone(device, groups_.at(op.group)->size(), name);
  const topology::CostCurve* curve =
      topology::find_curve(is_alone ? device.alone_costs : device.overlap_costs, name);
  if (curve == nullptr) return;
  const Time now = setup_.engine.now();
  const Time began = std::max(ending.began, Time{Duration{op.posted_ps}});
  Duration computed = waits ? Duration{} : now - std::clamp(owner.resumed, began, now);
  for (const Stretch& stretch : owner.stretches | std::views::reverse) {
    if (stretch.end <= began) break;
    computed += std::clamp(stretch.end, began, now) - std::clamp(stretch.begin, began, now);
  }
  if (computed == Duration{}) return;
  const Bytes size = is_message ? Bytes{total_bytes(op)} : buffer_of(op, groups_.at(op.group)->size());
  const Duration work = topology::cost_at(*curve, size);
  const double per_computed = static_cast<double>(work.count()) / static_cast<double>((now - began).count());
  const Duration taken{std::llround(per_computed * static_cast<double>(computed.count()))};
  if (!waits) {
    owner.stolen += taken;
    return;
  }
  // Who waits, for this one or another, has computed longer before and waits less. But the core has to do both in any
  // case, the operation's work and the computing: the rank goes on when that is done.
  const Duration more = std::clamp(computed + work - (now - began), Duration{}, taken);
  owner.owed += more;
  // The operation goes first: what it leaves of the core was enough for the computing in so much more time.
  const double longer = static_cast<double>(taken.count()) / (1 - std::min(per_computed, kMostOfCore));
  owner.hidden += std::min(work, Duration{std::llround(longer)}) - more;
}

}  // namespace orrery::live
