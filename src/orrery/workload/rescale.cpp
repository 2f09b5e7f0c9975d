// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/rescale.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.hpp"

namespace orrery::workload {
namespace {

using collectives::Operation;

constexpr std::int64_t kMostRanks = 1 << 20;

class Refusal {
 public:
  Refusal(const std::string& source, std::int64_t from, std::int64_t to)
      : source_{source}, from_{from}, to_{to} {}
  [[noreturn]] void operator()(const std::string& why) const {
    throw InputError{
        {.source = source_,
         .position = {},
         .field = {},
         .value = fmt::format("{}", to_),
         .expected = fmt::format("the trace of {} ranks does not say what {} would do: {}", from_, to_, why),
         .nearest = {}}};
  }
  [[noreturn]] void operator()(Rank rank, const Op& op, const std::string& why) const {
    (*this)(fmt::format("rank {}, node {} '{}': {}", rank, op.id, op.name, why));
  }

 private:
  std::string source_;
  std::int64_t from_;
  std::int64_t to_;
};

bool is_rooted(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kReduce ||
         operation == Operation::kGather || operation == Operation::kScatter;
}

/// How far around the ring the peer is, the shorter way, so that neighbours stay neighbours. Half way round counts
/// forwards for a send and backwards for its receive.
std::int64_t distance(const Op& op, Rank rank, std::int64_t ranks) {
  const std::int64_t forward = (static_cast<std::int64_t>(op.peer) - rank + ranks) % ranks;
  const std::int64_t twice = 2 * forward + (op.kind == OpKind::kReceive ? 1 : 0);
  return twice > ranks ? forward - ranks : forward;
}

bool is_everybody(const std::vector<Rank>& group, Rank ranks) {
  if (group.size() != ranks) return false;
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (group[rank] != rank) return false;
  }
  return true;
}

/// Whether one operation can be had by more or fewer ranks.
void check_op(const Op& op, const Workload& workload, std::int64_t ranks, const Refusal& refuse) {
  if (op.kind != OpKind::kCollective) return;
  if (!op.sizes.empty()) refuse(0, op, "its sizes are given rank by rank");
  if (!op.group.empty()) {
    const auto group = workload.groups.find(op.group);
    if (group == workload.groups.end() || !is_everybody(group->second, workload.ranks)) {
      refuse(0, op, fmt::format("it is a collective of group '{}', not of all ranks", op.group));
    }
  }
  if (is_rooted(op.operation) && op.root >= ranks) {
    refuse(0, op, fmt::format("its root is rank {}", op.root));
  }
}

/// What rank `rank` does that rank 0 does not; "" when nothing.
std::string difference(const Op& first, const Op& op, Rank rank, std::int64_t ranks) {
  if (op.kind != first.kind || op.on_cpu != first.on_cpu) return "it is of another kind than rank 0's";
  if (op.id != first.id) return fmt::format("rank 0 has node {} in its place", first.id);
  if (op.data_deps != first.data_deps || op.control_deps != first.control_deps) {
    return "its dependencies are not rank 0's";
  }
  if (op.kind == OpKind::kCollective) {
    const bool is_same = op.operation == first.operation && op.size == first.size &&
                         op.group == first.group && op.sizes == first.sizes &&
                         (!is_rooted(op.operation) || op.root == first.root);
    return is_same ? "" : "it is another collective than rank 0's";
  }
  if (op.kind != OpKind::kSend && op.kind != OpKind::kReceive) return {};
  if (op.size != first.size || op.tag != first.tag) return "its size or tag is not rank 0's";
  const std::int64_t here = distance(op, rank, ranks);
  const std::int64_t there = distance(first, 0, ranks);
  if (here == there) return {};
  return fmt::format("its peer is {:+} ranks away, rank 0's {:+}", here, there);
}

void check_pattern(const Workload& workload, std::int64_t ranks, const Refusal& refuse) {
  const std::int64_t from = workload.ranks;
  for (Rank rank = 0; rank < workload.ranks; ++rank) {
    const std::unique_ptr<OpSource> first_source = workload.open(0);
    const std::unique_ptr<OpSource> source = workload.open(rank);
    Op first;
    Op op;
    for (;;) {
      first.clear();
      op.clear();
      const bool has_first = first_source->next(first);
      const bool has_op = source->next(op);
      if (has_first != has_op) refuse(fmt::format("rank {} has more or fewer nodes than rank 0", rank));
      if (!has_op) break;
      if (rank == 0) check_op(op, workload, ranks, refuse);
      const std::string other = difference(first, op, rank, from);
      if (!other.empty()) refuse(rank, op, other);
    }
  }
}

/// What rank r of the larger or smaller workload does.
class RescaledSource final : public OpSource {
 public:
  RescaledSource(std::unique_ptr<OpSource> source, Rank rank, std::int64_t from, std::int64_t to)
      : source_{std::move(source)}, rank_{rank}, from_{from}, to_{to} {}
  bool next(Op& op) override {
    if (!source_->next(op)) return false;
    if (op.kind == OpKind::kSend || op.kind == OpKind::kReceive) {
      const std::int64_t away = distance(op, static_cast<Rank>(rank_ % from_), from_);
      op.peer = static_cast<Rank>(((rank_ + away) % to_ + to_) % to_);
    }
    op.group.clear();  // All of them are everybody.
    return true;
  }

 private:
  std::unique_ptr<OpSource> source_;
  std::int64_t rank_;
  std::int64_t from_;
  std::int64_t to_;
};

}  // namespace

Workload rescale(Workload workload, std::int64_t ranks, const std::string& source) {
  const std::int64_t from = workload.ranks;
  const Refusal refuse{source, from, ranks};
  if (ranks < 1 || ranks > kMostRanks) {
    throw InputError{{.source = source,
                      .position = {},
                      .field = {},
                      .value = fmt::format("{}", ranks),
                      .expected = fmt::format("expected a number from 1 to {}", kMostRanks),
                      .nearest = {}}};
  }
  if (ranks == from) return workload;
  check_pattern(workload, ranks, refuse);
  Workload made{.name = workload.name, .ranks = static_cast<Rank>(ranks)};
  made.streams = workload.streams;
  made.open = [open = std::move(workload.open), from, ranks](Rank rank) {
    return std::make_unique<RescaledSource>(open(static_cast<Rank>(rank % from)), rank, from, ranks);
  };
  return made;
}

}  // namespace orrery::workload
