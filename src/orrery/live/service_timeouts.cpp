// SPDX-License-Identifier: Apache-2.0
// Operations that take longer than the program allows them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orrery/base/text.hpp"
#include "orrery/live/operation_text.hpp"
#include "orrery/live/service.hpp"

namespace orrery::live {
namespace {

constexpr std::int64_t kPicosecondsPerMillisecond = 1'000'000'000;

}  // namespace

Time LiveService::due_of(const orrery_op& op) {
  return saturating_add(Time{Duration{op.posted_ps}}, Duration{op.timeout_ps});
}

void LiveService::time_out_operation(std::uint32_t rank, std::int64_t offset) {
  // Its memory may serve another operation by now; the one that is open here is what counts.
  orrery_op& op = operation(offset, rank);
  Rank& owner = ranks_[rank];
  const auto found = owner.open.find(op.handle);
  if (found == owner.open.end() || found->second != offset) return;
  if (due_of(op) > setup_.engine.now()) return;
  Group& group = group_of(rank, op);
  // Programs look for gloo's words.
  std::string reason = fmt::format("[{}] Timed out waiting {}ms for {}", rank_name(rank),
                                   op.timeout_ps / kPicosecondsPerMillisecond, to_text(op, group));
  if (op.kind == ORRERY_SEND || op.kind == ORRERY_RECEIVE) {
    messages_.fail(group, rank, op, reason);
    return;
  }
  std::vector<std::string> names;
  for (const std::uint32_t missing : collectives_.missing(group, op)) {
    names.push_back(std::to_string(missing));
  }
  if (op.kind == ORRERY_MONITORED_BARRIER && group.member_of.at(rank) != 0) {
    reason = fmt::format(
        "Rank {} successfully reached monitoredBarrier, but received errors while waiting for send/recv from "
        "rank {}. "
        "Please check rank {} logs for faulty rank.",
        rank, group.ranks[0], group.ranks[0]);
  } else if (op.kind == ORRERY_MONITORED_BARRIER) {
    const bool wants_all = op.tag != 0;
    if (!wants_all && names.size() > 1) names.resize(1);
    reason = fmt::format("Rank{} {} failed to pass monitoredBarrier in {} ms", names.size() == 1 ? "" : "s",
                         join(names, ", "), op.timeout_ps / kPicosecondsPerMillisecond);
  } else if (!names.empty()) {
    reason += fmt::format("; not there: rank {}", join(names, ", "));
  }
  collectives_.fail(group, rank, op, reason);
}

bool LiveService::may_time_out(const orrery_op& op) const {
  const bool has_end = op.timeout_ps > 0 && Duration{op.timeout_ps} < Duration::max() / 2;
  return has_end && (setup_.is_faulty || op.kind == ORRERY_MONITORED_BARRIER);
}

void LiveService::limit_operation(std::uint32_t rank, std::int64_t offset) {
  const Time due = saturating_add(setup_.engine.now(), Duration{operation(offset, rank).timeout_ps});
  const std::uint64_t number = next_post_++;
  posts_.emplace(number, Post{rank, offset});
  setup_.engine.schedule_deadline(due, engine::Phase::kWake, ranks_[rank].origin, *this,
                                  payload_of(Event::kOperationTimeout, number));
  ++ranks_[rank].timed_operations;
  setup_.engine.hold_for_deadline();
}

void LiveService::end_operation_limit(Rank& rank) {
  if (rank.timed_operations == 0) return;  // Nonsense in the memory that it shares with us.
  --rank.timed_operations;
  setup_.engine.let_go();
}

void LiveService::limit_wait(std::uint32_t rank, Time due) {
  if (due == kTimeMax) return;
  Rank& waiter = ranks_[rank];
  setup_.engine.schedule_deadline(due, engine::Phase::kWake, waiter.origin, *this,
                                  payload_of(Event::kTimeout, waiter.turn * kMostRanks + rank));
  if (!std::exchange(waiter.is_timed, true)) setup_.engine.hold_for_deadline();
}

void LiveService::end_limit(Rank& rank) {
  if (std::exchange(rank.is_timed, false)) setup_.engine.let_go();
}

void LiveService::end(Rank& rank) {
  if (std::exchange(rank.waits, Waits::kOver) == Waits::kOver) return;
  end_limit(rank);
  setup_.engine.let_go(std::exchange(rank.timed_operations, 0));
  if (++over_ == setup_.world) setup_.engine.dismiss();
}

void LiveService::set_deadline(std::uint32_t rank, Time due) {
  Rank& owner = ranks_[rank];
  due = std::max(due, setup_.engine.now() + Duration{1});
  if (due >= owner.deadline) return;
  owner.deadline = due;
  setup_.engine.schedule_deadline(due, engine::Phase::kWake, owner.origin, *this,
                                  payload_of(Event::kDeadline, rank));
}

void LiveService::meet_deadline(std::uint32_t rank) {
  Rank& owner = ranks_[rank];
  const Time now = setup_.engine.now();
  if (owner.waits == Waits::kOver || owner.deadline > now) return;
  owner.deadline = kTimeMax;
  std::vector<std::int64_t> late;  // In the order of posting.
  Time next = kTimeMax;
  for (const auto& [handle, offset] : owner.open) {
    const orrery_op& op = operation(offset, rank);
    if (op.timeout_ps <= 0 || op.kind == ORRERY_MONITORED_BARRIER) continue;
    if (due_of(op) <= now) {
      late.push_back(offset);
    } else {
      next = std::min(next, due_of(op));
    }
  }
  if (next != kTimeMax) set_deadline(rank, next);
  for (const std::int64_t offset : late) time_out_operation(rank, offset);
}

}  // namespace orrery::live
