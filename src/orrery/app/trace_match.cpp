// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/trace_match.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace orrery::app {
namespace {

using workload::Op;
using workload::OpKind;
using workload::Rank;

std::string group_text(const std::string& group) {
  return group.empty() ? std::string{"all ranks"} : fmt::format("group '{}'", group);
}

template <class Step>
std::string step_text(const Step& step) {
  std::string text = fmt::format("{}{} of {} B", collectives::to_text(step.operation),
                                 step.is_block ? "_block" : "", step.size.count());
  const auto operation = step.operation;
  using collectives::Operation;
  if (operation == Operation::kBroadcast || operation == Operation::kReduce ||
      operation == Operation::kGather || operation == Operation::kScatter) {
    text += fmt::format(" from root {}", step.root);
  }
  return text + fmt::format(" (node {} '{}')", step.id, step.name);
}

}  // namespace

void TraceMatch::add(Rank rank, const std::vector<Op>& ops) {
  std::map<std::string, bool> has;  // Groups of this rank; each is looked at, and complained of, once.
  for (const Op& op : ops) {
    if (op.kind == OpKind::kCollective) {
      check_root(rank, op);
      auto known = has.find(op.group);
      if (known == has.end()) known = has.emplace(op.group, has_group(rank, op)).first;
      if (known->second) add_step(rank, op);
    } else {
      add_message(rank, op);
    }
  }
}

void TraceMatch::add_message(Rank rank, const Op& op) {
  const bool is_send = op.kind == OpKind::kSend;
  if (op.peer >= ranks_) {
    problems_.add({ProblemKind::kNoSuchRank,
                   fmt::format("rank {}: node {} '{}' {} rank {}, but the trace has ranks 0 to {}", rank,
                               op.id, op.name, is_send ? "sends to" : "receives from", op.peer, ranks_ - 1),
                   {{rank, op.id, op.name}}});
    return;
  }
  const Rank source = is_send ? rank : op.peer;
  const Rank target = is_send ? op.peer : rank;
  const auto key = std::tuple{source, target, op.tag};
  Channel& channel = channels_[key];
  std::deque<End>& other = is_send ? channel.receives : channel.sends;
  if (other.empty()) {
    (is_send ? channel.sends : channel.receives).push_back({op.id, op.name, op.size});
    return;
  }
  const End met = other.front();
  other.pop_front();
  if (channel.sends.empty() && channel.receives.empty()) channels_.erase(key);
  ++messages_;
  if (met.size == op.size) return;
  const End own{op.id, op.name, op.size};
  const End& send = is_send ? own : met;
  const End& receive = is_send ? met : own;
  problems_.add(
      {ProblemKind::kSizeMismatch,
       fmt::format(
           "rank {} sends {} B to rank {} with tag {} (node {} '{}'), which expects {} B (node {} '{}')",
           source, send.size.count(), target, op.tag, send.id, send.name, receive.size.count(), receive.id,
           receive.name),
       {{source, send.id, send.name}, {target, receive.id, receive.name}}});
}

void TraceMatch::check_root(Rank rank, const Op& op) {
  if (op.root < ranks_) return;
  problems_.add({ProblemKind::kNoSuchRank,
                 fmt::format("rank {}: node {} '{}' has root {}, but the trace has ranks 0 to {}", rank,
                             op.id, op.name, op.root, ranks_ - 1),
                 {{rank, op.id, op.name}}});
}

bool TraceMatch::has_group(Rank rank, const Op& op) {
  const NodePlace place{rank, op.id, op.name};
  if (op.group.empty()) return true;
  const auto found = groups_.find(op.group);
  if (found == groups_.end()) {
    problems_.add(
        {ProblemKind::kNoSuchGroup,
         fmt::format("rank {}: node {} '{}' uses group '{}', which neither a comm-group file nor a metadata "
                     "node lists",
                     rank, op.id, op.name, op.group),
         {place}});
    return false;
  }
  if (std::ranges::find(found->second, rank) != found->second.end()) return true;
  problems_.add({ProblemKind::kNotInGroup,
                 fmt::format("rank {}: node {} '{}' uses group '{}', which does not list the rank", rank,
                             op.id, op.name, op.group),
                 {place}});
  return false;
}

void TraceMatch::add_step(Rank rank, const Op& op) {
  Sequence& sequence = sequences_[op.group];
  const Step step{.id = op.id,
                  .name = op.name,
                  .operation = op.operation,
                  .is_block = op.is_block,
                  .size = op.size,
                  .is_uneven = !op.sizes.empty(),
                  .root = op.root};
  if (sequence.done.empty()) sequence.first = rank;
  if (sequence.first == rank) {
    sequence.steps.push_back(step);
    ++sequence.done[rank];
    return;
  }
  compare(rank, op.group, sequence, step);
}

void TraceMatch::compare(Rank rank, const std::string& group, Sequence& sequence, const Step& step) {
  const std::size_t index = sequence.done[rank]++;
  if (sequence.is_broken) return;  // One word per group: the rest follows from it.
  if (index >= sequence.steps.size()) {
    sequence.is_broken = true;
    problems_.add(
        {ProblemKind::kSequenceMismatch,
         fmt::format("{}: rank {} has {} more than the {} collectives of rank {}", group_text(group), rank,
                     step_text(step), sequence.steps.size(), sequence.first),
         {{rank, step.id, step.name}}});
    return;
  }
  const Step& reference = sequence.steps[index];
  const bool is_same = reference.operation == step.operation && reference.is_block == step.is_block &&
                       reference.root == step.root;
  const bool is_even = !reference.is_uneven && !step.is_uneven;
  if (is_same && (reference.size == step.size || !is_even)) return;
  sequence.is_broken = true;
  problems_.add({is_same ? ProblemKind::kSizeMismatch : ProblemKind::kSequenceMismatch,
                 fmt::format("{}: collective {} is {} on rank {} but {} on rank {}", group_text(group),
                             index + 1, step_text(reference), sequence.first, step_text(step), rank),
                 {{sequence.first, reference.id, reference.name}, {rank, step.id, step.name}}});
}

void TraceMatch::finish() {
  finish_messages();
  finish_groups();
}

void TraceMatch::finish_messages() {
  for (const auto& [key, channel] : channels_) {
    const auto& [source, target, tag] = key;
    const bool is_send = !channel.sends.empty();
    const std::deque<End>& left = is_send ? channel.sends : channel.receives;
    const End& end = left.front();
    const Rank rank = is_send ? source : target;
    const std::string more = left.size() == 1 ? "" : fmt::format(" (and {} more like it)", left.size() - 1);
    problems_.add(
        {ProblemKind::kMissingPeer,
         is_send
             ? fmt::format(
                   "rank {}: node {} '{}' sends {} B to rank {} with tag {}, which nobody there receives{}",
                   rank, end.id, end.name, end.size.count(), target, tag, more)
             : fmt::format(
                   "rank {}: node {} '{}' expects {} B from rank {} with tag {}, which nobody there sends{}",
                   rank, end.id, end.name, end.size.count(), source, tag, more),
         {{rank, end.id, end.name}}});
  }
}

void TraceMatch::report_short(const std::string& group, Sequence& sequence, Rank rank, std::size_t done) {
  sequence.is_broken = true;
  const Step& step = sequence.steps[done];
  problems_.add(
      {ProblemKind::kSequenceMismatch,
       fmt::format("{}: rank {} has {} of the {} collectives of rank {}; the first it lacks is {}",
                   group_text(group), rank, done, sequence.steps.size(), sequence.first, step_text(step)),
       {{sequence.first, step.id, step.name}}});
}

void TraceMatch::finish_groups() {
  for (auto& [group, sequence] : sequences_) {
    const auto members = groups_.find(group);
    const std::size_t count = members == groups_.end() ? ranks_ : members->second.size();
    for (std::size_t i = 0; i < count && !sequence.is_broken; ++i) {
      const Rank rank = members == groups_.end() ? static_cast<Rank>(i) : members->second[i];
      const auto done = sequence.done.find(rank);
      const std::size_t steps = done == sequence.done.end() ? 0 : done->second;
      if (steps < sequence.steps.size()) report_short(group, sequence, rank, steps);
    }
  }
}

std::uint64_t TraceMatch::collectives() const {
  std::uint64_t count = 0;
  for (const auto& [group, sequence] : sequences_) {
    if (!sequence.is_broken) count += sequence.steps.size();
  }
  return count;
}

}  // namespace orrery::app
