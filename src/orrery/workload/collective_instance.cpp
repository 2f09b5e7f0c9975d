// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/collective_instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::workload {
namespace {

using collectives::CollectiveRequest;
using collectives::CollectiveRun;
using collectives::Operation;

bool is_rooted(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kReduce ||
         operation == Operation::kGather || operation == Operation::kScatter;
}

Bytes sum(const std::vector<Bytes>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), Bytes{}); }

}  // namespace

CollectiveInstance::CollectiveInstance(InstanceOwner& owner, ProcessGroup& group, std::uint64_t number)
    : owner_{owner},
      group_{group},
      number_{number},
      slots_(group.size(), kNoSlot),
      has_ended_(group.size(), false) {}

void CollectiveInstance::check_agreement(Rank member, const Communication& what) const {
  std::string on;
  if (what.operation != first_.operation) {
    on = "operation";
  } else if (is_rooted(what.operation) && what.root != first_.root) {
    on = "root";
  } else if (what.operation != Operation::kBarrier) {
    // What the members of an uneven all_to_all send differs.
    const bool is_uneven_exchange = what.operation == Operation::kAllToAll && !what.sizes.empty();
    if (what.sizes.empty() != first_.sizes.empty() ||
        (!is_uneven_exchange && (what.sizes != first_.sizes || what.size != first_.size))) {
      on = "size";
    }
  }
  if (on.empty()) return;
  throw SimulationError{
      fmt::format("collective #{} of {}: the ranks disagree on the {}\n  rank {}: {}\n  rank {}: {}",
                  number_ + 1, to_text(group_), on, group_.ranks[first_member_], to_text(first_),
                  group_.ranks[member], to_text(what))};
}

void CollectiveInstance::check_sizes(Rank member, const Communication& what) const {
  // So that no sum over the members can overflow.
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  const std::int64_t whole = kMost / group_.size();
  const std::int64_t part = whole / group_.size();
  const auto is_absurd = [part](Bytes size) { return size.count() < 0 || size.count() > part; };
  const bool is_fit = what.size.count() >= 0 && what.size.count() <= whole;
  if (is_fit && std::ranges::none_of(what.sizes, is_absurd)) return;
  throw SimulationError{fmt::format("rank {}: {}: such sizes are not simulated with {} members; at most {}",
                                    group_.ranks[member], to_text(what), group_.size(),
                                    orrery::to_text(Bytes{whole}))};
}

void CollectiveInstance::call(Rank member, Slot slot, const Communication& what, Time now) {
  check_sizes(member, what);
  if (!what.sizes.empty() && what.sizes.size() != group_.size()) {
    throw SimulationError{fmt::format("rank {}: {}: {} sizes for the {} members of {}", group_.ranks[member],
                                      to_text(what), what.sizes.size(), group_.size(), to_text(group_))};
  }
  if (is_rooted(what.operation) && group_.member(what.root) == kNoSlot) {
    throw SimulationError{fmt::format("rank {}: {}: the root is not in {}", group_.ranks[member],
                                      to_text(what), to_text(group_))};
  }
  if (called_ == 0) {
    first_ = what;
    first_member_ = member;
    first_call_ = now;
  } else {
    check_agreement(member, what);
  }
  if (what.operation == Operation::kAllToAll && !what.sizes.empty()) {
    rows_.resize(group_.size());
    rows_[member] = what.sizes;
  }
  slots_[member] = slot;
  fresh_.push_back({member, {}, now});
  ++called_;
  last_call_ = now;
}

bool CollectiveInstance::can_start() const { return rows_.empty() || is_complete(); }

Bytes buffer_of(const Communication& what, std::size_t members) {
  if (what.operation == Operation::kBarrier) return {};
  if (!what.sizes.empty()) return sum(what.sizes);
  const bool is_part = what.operation == Operation::kAllGather || what.operation == Operation::kGather;
  return is_part ? what.size * static_cast<std::int64_t>(members) : what.size;
}

CollectiveRequest CollectiveInstance::request() const {
  CollectiveRequest request;
  request.operation = first_.operation;
  request.element = first_.element;
  request.floating = first_.is_floating;
  if (is_rooted(first_.operation)) request.root = group_.member(first_.root);
  request.size = buffer_of(first_, group_.size());
  if (first_.operation != Operation::kAllToAll) {
    request.sizes = first_.sizes;
  } else {
    for (const std::vector<Bytes>& row : rows_) {
      request.size = std::max(request.size, sum(row));
      request.sizes.insert(request.sizes.end(), row.begin(), row.end());
    }
  }
  // Even sizes have a faster form.
  const auto is_first = [&](Bytes size) { return size == request.sizes.front(); };
  if (std::ranges::all_of(request.sizes, is_first)) request.sizes.clear();
  return request;
}

void CollectiveInstance::start(std::shared_ptr<const collectives::Plan> plan, CollectiveRun::Setup setup) {
  plan_ = std::move(plan);
  Listener* const listener = this;
  run_ = std::make_unique<CollectiveRun>(std::move(setup), listener);
}

bool CollectiveInstance::let_in() {
  if (!run_) return false;
  std::vector<Entry> entering;
  entering.swap(fresh_);
  // By member: who came first within an instant does not matter.
  std::ranges::sort(entering, {}, &Entry::member);
  for (const auto& [member, wake, called] : entering) run_->arrive(member, wake, called);
  return true;
}

bool CollectiveInstance::is_idle() const {
  if (!run_) return true;
  for (Rank i = 0; i < plan_->schedule->participants(); ++i) {
    if (!run_->is_done(i)) return false;
  }
  return true;
}

void CollectiveInstance::on_rank_done(Rank member) {
  ++ended_;
  has_ended_[member] = true;
  owner_.on_member_done(*this, member);
}

}  // namespace orrery::workload
