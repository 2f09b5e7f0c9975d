// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "orrery/base/text.hpp"
#include "orrery/live/agreement.hpp"
#include "orrery/live/operation_text.hpp"

namespace orrery::live {
namespace {

using collectives::CollectiveRequest;
using collectives::CollectiveRun;
using collectives::Operation;
using collectives::Rank;

bool is_even(const std::int64_t* sizes, std::size_t count) {
  return std::all_of(sizes, sizes + count, [&](std::int64_t size) { return size == sizes[0]; });
}

void set_sizes(CollectiveRequest& request, const std::int64_t* sizes, std::size_t count) {
  request.size = Bytes{std::accumulate(sizes, sizes + count, std::int64_t{0})};
  if (is_even(sizes, count)) return;
  for (std::size_t i = 0; i < count; ++i) request.sizes.emplace_back(sizes[i]);
}

/// Everything but all_to_all, whose sizes no member knows alone.
CollectiveRequest request_of(const orrery_op& op, std::uint32_t members) {
  CollectiveRequest request;
  request.operation = operation_of(op);
  request.element = Bytes{std::max<std::int64_t>(1, op.element)};
  request.floating = is_floating(op.dtype);
  if (op.peer >= 0) request.root = static_cast<Rank>(op.peer);
  const std::int64_t* const sizes = sizes_of(op);
  switch (op.kind) {
    case ORRERY_ALL_GATHER:
    case ORRERY_REDUCE_SCATTER:
      set_sizes(request, sizes, members);
      break;
    case ORRERY_GATHER:
    case ORRERY_SCATTER:
      request.size = Bytes{sizes[0] * members};
      break;
    case ORRERY_BARRIER:
    case ORRERY_MONITORED_BARRIER:
      break;
    default:
      request.size = Bytes{sizes[0]};
  }
  return request;
}

}  // namespace

Operation operation_of(const orrery_op& op) {
  switch (op.kind) {
    case ORRERY_ALL_REDUCE:
      return Operation::kAllReduce;
    case ORRERY_BROADCAST:
      return Operation::kBroadcast;
    case ORRERY_REDUCE:
      return Operation::kReduce;
    case ORRERY_ALL_GATHER:
      return Operation::kAllGather;
    case ORRERY_REDUCE_SCATTER:
      return Operation::kReduceScatter;
    case ORRERY_ALL_TO_ALL:
      return Operation::kAllToAll;
    case ORRERY_GATHER:
      return Operation::kGather;
    case ORRERY_SCATTER:
      return Operation::kScatter;
    default:
      return Operation::kBarrier;
  }
}

Bytes buffer_of(const orrery_op& op, std::uint32_t members) {
  return op.kind == ORRERY_ALL_TO_ALL ? Bytes{total_bytes(op)} : request_of(op, members).size;
}

/// One collective that at least one member has called.
class Collectives::Instance final : public Pinned, CollectiveRun::Listener {
 public:
  Instance(Collectives& owner, Group& group, const orrery_op& first)
      : owner_{owner}, group_{group}, sequence_{first.sequence}, operations_(group.size(), 0) {
    const std::size_t bytes = sizeof(Table) + group.size() * sizeof(std::int64_t);
    table_ = static_cast<Table*>(owner.setup_.heap.allocate(bytes, bytes));
    table_->members = group.size();
    table_->readers.store(group.size(), std::memory_order_relaxed);
  }

  [[nodiscard]] const Group& group() const { return group_; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  [[nodiscard]] bool has_called(std::uint32_t member) const { return operations_[member] != 0; }
  [[nodiscard]] bool is_over() const { return ended_ == group_.size(); }
  [[nodiscard]] std::int64_t table() const { return owner_.setup_.arena.offset_of(table_); }
  [[nodiscard]] Time began() const { return last_arrival_; }
  [[nodiscard]] std::int64_t operation(std::uint32_t member) const { return operations_[member]; }

  void arrive(std::uint32_t member, const orrery_op& op) {
    Arena& arena = owner_.setup_.arena;
    if (called_ > 0) check_agreement(arena, group_, operations_, member, op);
    operations_[member] = arena.offset_of(&op);
    table_->operations[member] = operations_[member];
    ++called_;
    last_arrival_ = owner_.setup_.engine.now();
    collectives::Wakefulness& wakefulness = owner_.setup_.wakefulness;
    const std::string_view name = collectives::to_text(operation_of(op));
    const std::uint32_t rank = group_.ranks[member];
    const Duration wake = wakefulness.sleeps_on(rank, name, group_.size())
                              ? Duration{}
                              : wakefulness.wake(rank, name, buffer_of(op, group_.size()), last_arrival_);
    if (op.kind == ORRERY_ALL_TO_ALL) {
      calls_.resize(group_.size());
      calls_[member] = {last_arrival_, wake};
      if (called_ < group_.size()) return;
      start(all_to_all_request());
      for (Rank i = 0; i < group_.size(); ++i) run_->arrive(i, calls_[i].second, calls_[i].first);
      return;
    }
    if (!run_) start(request_of(op, group_.size()));
    run_->arrive(member, wake);
  }

  void fail(std::uint32_t member) {
    is_failed_.resize(group_.size(), false);
    is_failed_[member] = true;
    ++ended_;
    withdraw(member);
  }
  void withdraw(std::uint32_t member) {
    if (run_) run_->withdraw(member);
  }

  [[nodiscard]] bool is_idle() const {
    if (!run_) return true;
    for (Rank i = 0; i < plan_->schedule->participants(); ++i) {
      if (!run_->is_done(i)) return false;
    }
    return true;
  }
  [[nodiscard]] std::int64_t wire_bytes() const { return run_ ? run_->wire_bytes().count() : 0; }

 private:
  CollectiveRequest all_to_all_request() const {
    const std::uint32_t n = group_.size();
    CollectiveRequest request;
    request.operation = Operation::kAllToAll;
    std::vector<std::int64_t> pairs;
    std::int64_t largest = 0;
    for (std::uint32_t from = 0; from < n; ++from) {
      const auto& op = owner_.setup_.arena.get<orrery_op>(operations_[from]);
      const std::int64_t* const sizes = sizes_of(op);
      pairs.insert(pairs.end(), sizes, sizes + n);
      largest = std::max(largest, std::accumulate(sizes, sizes + n, std::int64_t{0}));
      request.element = Bytes{std::max<std::int64_t>(1, op.element)};
      request.floating = is_floating(op.dtype);
    }
    request.size = Bytes{largest};
    if (is_even(pairs.data(), pairs.size())) return request;
    for (const std::int64_t size : pairs) request.sizes.emplace_back(size);
    return request;
  }

  void start(const CollectiveRequest& request) {
    plan_ = owner_.plan(group_, request);
    CollectiveRun::Setup setup{
        owner_.setup_.engine, owner_.setup_.network, owner_.setup_.router, *plan_->schedule,
        plan_->layout,        plan_->choice.nodes,   plan_->choice.costs,  {}};
    if (owner_.setup_.engine.observer() != nullptr) {
      setup.name = fmt::format("{} ({}, {})", to_text(request.operation), plan_->choice.label,
                               orrery::to_text(request.size));
      setup.names = group_.names;
      setup.track_group = "communication";
    }
    setup.origin = owner_.origin_;
    setup.connections = &group_.connections;
    setup.wiring = plan_->wiring;
    setup.notice = plan_->choice.notice;
    setup.is_watched = false;
    Listener* const listener = this;
    run_ = std::make_unique<CollectiveRun>(std::move(setup), listener);
  }

  void on_rank_done(Rank member) override {
    if (!is_failed_.empty() && is_failed_[member]) return;
    ++ended_;
    owner_.ended(*this, member);
  }

  Collectives& owner_;
  Group& group_;
  std::uint64_t sequence_;
  std::vector<std::int64_t> operations_;  // Offset of each member's, 0 = has not called.
  Table* table_;
  std::uint32_t called_ = 0;
  std::uint32_t ended_ = 0;
  Time last_arrival_{};
  std::vector<std::pair<Time, Duration>> calls_;  // Of all_to_all, which begins when all are there; with the waking.
  std::vector<bool> is_failed_;
  std::shared_ptr<const collectives::Plan> plan_;
  std::unique_ptr<CollectiveRun> run_;
};

Collectives::Collectives(Setup setup)
    : setup_{std::move(setup)},
      planner_{{.cluster = setup_.cluster,
                .router = setup_.router,
                .algorithm = setup_.algorithm,
                .fallback = setup_.fallback,
                .catalog = setup_.catalog}},
      origin_{setup_.engine.add_origin("collectives")} {}

Collectives::~Collectives() = default;

void Collectives::arrive(Group& group, std::uint32_t rank, orrery_op& op) {
  retire();
  std::unique_ptr<Instance>& instance = open_[{&group, op.sequence}];
  if (!instance) instance = std::make_unique<Instance>(*this, group, op);
  instance->arrive(group.member_of.at(rank), op);
}

void Collectives::fail(Group& group, std::uint32_t rank, orrery_op& op, const std::string& reason) {
  const auto found = open_.find({&group, op.sequence});
  if (found != open_.end()) found->second->fail(group.member_of.at(rank));
  setup_.listener.on_ended(
      rank, {.operation = setup_.arena.offset_of(&op), .began = setup_.engine.now(), .reason = reason});
}

void Collectives::withdraw(std::uint32_t rank) {
  for (const auto& [key, instance] : open_) {
    const auto found = instance->group().member_of.find(rank);
    if (found != instance->group().member_of.end()) instance->withdraw(found->second);
  }
}

std::vector<std::uint32_t> Collectives::missing(const Group& group, const orrery_op& op) const {
  std::vector<std::uint32_t> ranks;
  const auto found = open_.find({&group, op.sequence});
  for (std::uint32_t member = 0; member < group.size(); ++member) {
    if (found == open_.end() || !found->second->has_called(member)) ranks.push_back(group.ranks[member]);
  }
  return ranks;
}

void Collectives::ended(Instance& instance, std::uint32_t member) {
  const std::uint32_t rank = instance.group().ranks[member];
  const auto& op = setup_.arena.get<orrery_op>(instance.operation(member));
  if (!setup_.wakefulness.sleeps_on(rank, collectives::to_text(operation_of(op)), instance.group().size())) {
    setup_.wakefulness.end(rank, setup_.engine.now());
  }
  setup_.listener.on_ended(
      rank,
      {.operation = instance.operation(member), .began = instance.began(), .table = instance.table()});
  if (!instance.is_over()) return;
  // We are inside its run: it is destroyed later.
  const auto found = open_.find({&instance.group(), instance.sequence()});
  over_.push_back(std::move(found->second));
  open_.erase(found);
}

void Collectives::retire() {
  while (!over_.empty() && over_.front()->is_idle()) {
    wire_bytes_ += over_.front()->wire_bytes();
    over_.pop_front();
  }
}

std::int64_t Collectives::wire_bytes() const {
  std::int64_t bytes = wire_bytes_;
  for (const auto& instance : over_) bytes += instance->wire_bytes();
  for (const auto& [key, instance] : open_) bytes += instance->wire_bytes();
  return bytes;
}

std::shared_ptr<const collectives::Plan> Collectives::plan(Group& group, const CollectiveRequest& request) {
  return planner_.plan(reinterpret_cast<std::uintptr_t>(&group), group.nodes, group.ranks, request);
}

}  // namespace orrery::live
