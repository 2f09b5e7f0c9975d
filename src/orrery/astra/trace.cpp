// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "orrery/astra/trace_build.hpp"
#include "orrery/base/digest.hpp"
#include "orrery/base/text.hpp"
#include "orrery/engine/engine.hpp"

namespace orrery::astra {
namespace {

[[noreturn]] void refuse(const std::string& name, const workload::Op& op, const std::string& reason) {
  throw InputError{fmt::format("{}: node {} ('{}'): {}", name, op.id, op.name, reason)};
}

std::uint64_t bytes_of(const std::string& name, const workload::Op& op, Bytes bytes) {
  if (bytes.count() < 0) refuse(name, op, "its size is negative");
  return static_cast<std::uint64_t>(bytes.count());
}

void read_collective(const std::string& name, const workload::Op& op, Step& step) {
  using collectives::Operation;
  if (op.is_block) {
    refuse(name, op, "ASTRA-sim does not simulate REDUCE_SCATTER_BLOCK; replay without --astra-system");
  }
  if (!op.sizes.empty()) {
    refuse(name, op, "ASTRA-sim has no uneven collectives; replay without --astra-system");
  }
  switch (op.operation) {
    case Operation::kAllReduce:
      step.collective = Collective::kAllReduce;
      break;
    case Operation::kAllGather:
      step.collective = Collective::kAllGather;
      break;
    case Operation::kReduceScatter:
      step.collective = Collective::kReduceScatter;
      break;
    case Operation::kAllToAll:
      step.collective = Collective::kAllToAll;
      break;
    case Operation::kBroadcast:
      step.is_broadcast = true;
      break;
    default:
      refuse(name, op,
             fmt::format("ASTRA-sim does not simulate {}; replay without --astra-system",
                         collectives::to_text(op.operation)));
  }
  step.size = bytes_of(name, op, op.size);
  step.priority = static_cast<std::int32_t>(op.priority);
  if (!op.dims.empty()) {
    step.dims = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(op.dims.size(), 64); ++i) {
      step.dims |= std::uint64_t{op.dims[i]} << i;
    }
  }
}

/// ASTRA-sim keeps tags as int and takes the remainder; negative ones abort it.
std::uint32_t tag_of(const std::string& name, const workload::Op& op) {
  constexpr std::int32_t kTags = 500'000'000;
  const std::int32_t tag = static_cast<std::int32_t>(static_cast<std::uint32_t>(op.tag)) % kTags;
  if (tag < 0) {
    refuse(name, op, fmt::format("comm_tag {} is negative as ASTRA-sim reads it, which aborts it", op.tag));
  }
  return static_cast<std::uint32_t>(tag);
}

void read_message(const std::string& name, const workload::Op& op, std::uint32_t peers, Step& step) {
  step.size = bytes_of(name, op, op.size);
  step.peer = op.peer;
  step.tag = tag_of(name, op);
  if (op.kind == OpKind::kSend && op.size.count() == 0) {
    refuse(name, op, "a message of 0 bytes aborts ASTRA-sim");
  }
  if (op.peer >= peers) {
    refuse(name, op, fmt::format("its peer is rank {}, but there are only {} ranks", op.peer, peers));
  }
}

/// `replays`: everything takes its duration, whatever it is.
Step read_step(const std::string& name, const workload::Op& op, std::uint32_t peers, const Groups* groups,
               bool replays) {
  Step step;
  step.id = op.id;
  step.kind = op.kind;
  step.on_cpu = op.on_cpu;
  step.duration = static_cast<std::uint64_t>(std::max<std::int64_t>(0, count_ps(op.recorded)) / 1000);
  step.dims = ~std::uint64_t{0};
  if (replays) return step;
  switch (op.kind) {
    case OpKind::kCompute:
      step.flops = op.flops;
      step.size = bytes_of(name, op, op.tensor);
      break;
    case OpKind::kCollective:
      read_collective(name, op, step);
      break;
    case OpKind::kSend:
    case OpKind::kReceive:
      read_message(name, op, peers, step);
      break;
    case OpKind::kLoad:
    case OpKind::kStore:
      step.size = bytes_of(name, op, op.tensor);
      break;
    case OpKind::kNone:
      break;
  }
  const bool is_communication =
      op.kind == OpKind::kCollective || op.kind == OpKind::kSend || op.kind == OpKind::kReceive;
  if (is_communication && op.on_cpu) {
    refuse(name, op, "ASTRA-sim runs no communication on the CPU (is_cpu_op)");
  }
  if (op.kind == OpKind::kCollective && groups != nullptr) {
    const auto group = groups->find(op.group);
    if (!group) refuse(name, op, fmt::format("there is no communicator group '{}'", op.group));
    step.group = *group;
  }
  return step;
}

std::uint64_t hash_of(const Trace& trace) {
  Digest digest;
  for (const Step& step : trace.steps) {
    digest.add(step.id);
    digest.add(step.size);
    digest.add(step.duration);
    digest.add((std::uint64_t{step.peer} << 32U) | step.tag);
  }
  digest.add(trace.children.size());
  return digest.value();
}

}  // namespace

std::shared_ptr<Trace> read_trace(workload::OpSource& source, const std::string& name, std::uint32_t peers,
                                  const Groups* groups, bool replay_only) {
  TraceBuilder builder{name};
  workload::Op op;
  while (source.next(op)) {
    builder.add(read_step(name, op, peers, groups, replay_only), op);
    op.clear();
  }
  return builder.finish();
}

Traces read_traces(const workload::Workload& workload, std::uint32_t npus, const Groups& groups,
                   bool replay_only, const std::function<bool()>& wants_stop, Warnings& warnings) {
  if (workload.ranks < npus) {
    throw InputError{fmt::format("workload {}: the network has {} NPUs, but there is no trace for rank {}",
                                 workload.name, npus, workload.ranks)};
  }
  if (workload.ranks > npus) {
    warnings.push_back(fmt::format("the network has {} NPUs: the traces of ranks {} to {} are left out", npus,
                                   npus, workload.ranks - 1));
  }
  Traces traces;
  std::map<std::uint64_t, std::vector<std::shared_ptr<const Trace>>> known;
  for (std::uint32_t rank = 0; rank < npus; ++rank) {
    if (wants_stop && wants_stop()) throw engine::Interrupted{};
    const auto source = workload.open(rank);
    const auto fresh =
        read_trace(*source, fmt::format("{} rank {}", workload.name, rank), npus, &groups, replay_only);
    // Writers number the nodes of all ranks in one go: counted from the first, equal ranks are equal.
    traces.first_ids.push_back(fresh->steps.empty() ? 0 : fresh->steps[0].id);
    for (Step& step : fresh->steps) step.id -= traces.first_ids.back();
    std::shared_ptr<const Trace> trace = fresh;
    if (trace->steps.empty()) warnings.push_back(fmt::format("rank {} has nothing to do", rank));
    auto& alike = known[hash_of(*trace)];
    const auto same = std::ranges::find_if(alike, [&](const auto& other) { return *other == *trace; });
    if (same == alike.end()) {
      alike.push_back(trace);
    } else {
      trace = *same;
    }
    traces.ranks.push_back(std::move(trace));
  }
  traces.are_equal =
      std::ranges::all_of(traces.ranks, [&](const auto& trace) { return trace == traces.ranks[0]; });
  return traces;
}

std::string describe(const Step& step) {
  switch (step.kind) {
    case OpKind::kCollective:
      return fmt::format("node {} ({} of {} bytes)", step.id,
                         step.is_broadcast ? "broadcast" : to_text(step.collective), step.size);
    case OpKind::kSend:
      return fmt::format("node {} (send of {} bytes to rank {}, tag {})", step.id, step.size, step.peer,
                         step.tag);
    case OpKind::kReceive:
      return fmt::format("node {} (receive of {} bytes from rank {}, tag {})", step.id, step.size, step.peer,
                         step.tag);
    case OpKind::kCompute:
      return fmt::format("node {} (compute)", step.id);
    case OpKind::kLoad:
    case OpKind::kStore:
      return fmt::format("node {} (remote memory, {} bytes)", step.id, step.size);
    case OpKind::kNone:
      break;
  }
  return fmt::format("node {}", step.id);
}

Groups::Groups(const GroupLists& lists, const workload::Groups& of_trace, std::uint32_t npus) {
  for (const auto& [id, members] : lists) {
    by_name_[std::to_string(id)] = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back({.id = id, .name = std::to_string(id), .members = members});
  }
  std::int64_t unnamed = 2000;  // Groups of a trace whose names are no numbers: any free numbers.
  for (const auto& [name, members] : of_trace) {
    if (name.empty() || name == "0" || by_name_.contains(name)) continue;
    if (std::ranges::any_of(members, [&](std::uint32_t rank) { return rank >= npus; })) continue;
    const auto number = parse_integer(name);
    const std::int64_t id = number && *number > 0 && *number < 1000 ? *number + 1 : unnamed++;
    by_name_[name] = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back({.id = id, .name = name, .members = {members.begin(), members.end()}});
  }
}

std::optional<std::uint32_t> Groups::find(const std::string& name) const {
  if (name.empty() || name == "0") return kAllRanks;
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

}  // namespace orrery::astra
