// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/communication.hpp"

#include <fmt/format.h>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::workload {
namespace {

ProcessGroup make_group(const std::string& name, const std::vector<Rank>& ranks,
                        const topology::Cluster& cluster) {
  ProcessGroup group{.name = name, .ranks = ranks};
  bool is_identity = true;
  for (Rank member = 0; member < group.size(); ++member) {
    const Rank rank = ranks[member];
    is_identity = is_identity && rank == member;
    group.nodes.push_back(cluster.ranks[rank]);
    group.names.push_back(fmt::format("rank {}", rank));
  }
  if (is_identity) return group;
  for (Rank member = 0; member < group.size(); ++member) {
    if (!group.member_of.emplace(ranks[member], member).second) {
      throw InputError{fmt::format("group '{}': rank {} stands twice", name, ranks[member])};
    }
  }
  return group;
}

}  // namespace

std::string to_text(const Communication& what, const std::string& group) {
  const std::string node = fmt::format("node {} '{}': ", what.id, what.name);
  const std::string size = orrery::to_text(what.size);
  switch (what.kind) {
    case OpKind::kSend:
      return fmt::format("{}send of {} to rank {}, tag {}", node, size, what.peer, what.tag);
    case OpKind::kReceive:
      return fmt::format("{}receive of {} from rank {}, tag {}", node, size, what.peer, what.tag);
    default:
      break;
  }
  std::string text = fmt::format("{}{}", node, collectives::to_text(what.operation));
  if (what.operation != collectives::Operation::kBarrier) {
    text += what.sizes.empty() ? fmt::format(" of {}", size) : std::string{" of uneven sizes"};
  }
  using collectives::Operation;
  if (what.operation == Operation::kBroadcast || what.operation == Operation::kReduce ||
      what.operation == Operation::kGather || what.operation == Operation::kScatter) {
    text += fmt::format(", root {}", what.root);
  }
  return group.empty() ? text : text + " in " + group;
}

Rank ProcessGroup::member(Rank rank) const {
  if (member_of.empty()) return rank < size() ? rank : kNoSlot;
  const auto found = member_of.find(rank);
  return found == member_of.end() ? kNoSlot : found->second;
}

std::string to_text(const ProcessGroup& group) {
  return group.name.empty() ? "the group of all ranks" : fmt::format("group '{}'", group.name);
}

std::vector<ProcessGroup> make_groups(const Workload& workload, const topology::Cluster& cluster) {
  std::vector<Rank> everybody(workload.ranks);
  for (Rank rank = 0; rank < workload.ranks; ++rank) everybody[rank] = rank;
  std::vector<ProcessGroup> groups;
  groups.push_back(make_group({}, everybody, cluster));
  for (const auto& [name, ranks] : workload.groups) {
    if (name.empty()) continue;
    if (ranks.empty()) throw InputError{fmt::format("group '{}' has no ranks", name)};
    for (const Rank rank : ranks) {
      if (rank < workload.ranks) continue;
      throw InputError{
          fmt::format("group '{}': rank {}: the workload has ranks 0 to {}", name, rank, workload.ranks - 1)};
    }
    groups.push_back(make_group(name, ranks, cluster));
  }
  return groups;
}

}  // namespace orrery::workload
