// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/open_traces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "orrery/chakra/lower.hpp"
#include "orrery/chakra/node_source.hpp"
#include "orrery/chakra/process_groups.hpp"
#include "orrery/chakra/tensors.hpp"

namespace orrery::chakra {
namespace {

using workload::Op;
using workload::OpKind;
using workload::Rank;

struct Shared {
  TraceFiles files;
  TraceGroups groups;
  Limits limits;
  bool has_tensors = false;
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(files.paths.size()); }
};

std::vector<std::string> names_of(const workload::Groups& groups) {
  std::vector<std::string> names;
  for (const auto& [name, ranks] : groups) names.push_back(name);
  return names;
}

class TraceOps final : public workload::OpSource {
 public:
  TraceOps(std::shared_ptr<const Shared> shared, Rank rank)
      : shared_{std::move(shared)},
        rank_{rank},
        nodes_{open_nodes(shared_->files.paths.at(rank), shared_->limits)} {}

  bool next(Op& op) override {
    if (!nodes_->next(node_)) return false;
    const TraceFiles& files = shared_->files;
    lower(node_, *nodes_, files.is_single ? files.single_rank : rank_, op);
    if (shared_->has_tensors && op.kind != OpKind::kNone) append_tensors(node_, op.tensors);
    if (op.kind == OpKind::kCollective) resolve_group(op);
    if (op.kind == OpKind::kSend || op.kind == OpKind::kReceive) check_peer(op);
    return true;
  }

 private:
  void resolve_group(Op& op) const {
    const bool has_root = node_.find(kRootAttribute) != nullptr;
    if (op.group.empty()) {
      if (has_root && op.root >= shared_->ranks()) fail_rank(kRootAttribute, op.root);
      return;
    }
    const auto& renamed = shared_->groups.renamed[rank_];
    if (const auto found = renamed.find(op.group); found != renamed.end()) op.group = found->second;
    const auto group = shared_->groups.groups.find(op.group);
    if (group == shared_->groups.groups.end()) {
      throw nodes_->error(node_, "pg_name", op.group,
                          "no such process group: neither a comm-group file nor a metadata node lists it",
                          nearest_name(op.group, names_of(shared_->groups.groups)));
    }
    if (!has_root) op.root = group->second.front();
  }

  void check_peer(const Op& op) const {
    if (shared_->files.is_single || op.peer < shared_->ranks()) return;
    fail_rank(op.kind == OpKind::kSend ? "comm_dst" : "comm_src", op.peer);
  }

  [[noreturn]] void fail_rank(std::string_view attribute, Rank rank) const {
    throw nodes_->error(
        node_, attribute, fmt::format("{}", rank),
        fmt::format("no such rank: the trace has {} (0 to {})", shared_->ranks(), shared_->ranks() - 1));
  }

  std::shared_ptr<const Shared> shared_;
  Rank rank_;
  std::unique_ptr<NodeSource> nodes_;
  Node node_;
};

/// Adds what rank `rank` calls `group`; under another name when that name is taken by another list of ranks.
void add_group(TraceGroups& all, Rank rank, const ProcessGroup& group) {
  std::string name = group.name;
  for (int copy = 1;; ++copy) {
    const auto [at, is_new] = all.groups.try_emplace(name, group.ranks);
    if (is_new || at->second == group.ranks) break;
    name = fmt::format("{}@{}", group.name, group.ranks.front());
    if (copy > 1) name += fmt::format("#{}", copy);
  }
  if (name != group.name) all.renamed[rank][group.name] = name;
}

/// What the trace says of itself; "" when nothing.
std::string streams_of(const std::string& path, const Limits& limits) {
  const auto nodes = open_nodes(path, limits);
  const auto& attributes = nodes->metadata().attributes;
  const auto found = std::ranges::find(attributes, kStreamsAttribute, &Attribute::name);
  return found != attributes.end() && found->type == ValueType::kString ? found->text : std::string{};
}

}  // namespace

TraceGroups find_groups(const TraceFiles& files, const std::string& comm_group_file, const Limits& limits) {
  const auto ranks = static_cast<Rank>(files.paths.size());
  TraceGroups all;
  all.renamed.resize(ranks);
  std::set<std::string> given;
  if (!comm_group_file.empty()) {
    all.groups = read_comm_groups(comm_group_file, files.is_single ? ~Rank{0} : ranks);
    for (const auto& [name, members] : all.groups) given.insert(name);
  }
  Node node;
  for (Rank rank = 0; rank < ranks; ++rank) {
    const auto nodes = open_nodes(files.paths[rank], limits);
    while (nodes->next_of(NodeType::kMetadata, node)) {
      for (ProcessGroup& group : process_groups(node)) {
        if (group.name.empty() || group.name == "0" || given.contains(group.name)) continue;
        if (group.ranks.empty()) {
          group.ranks.resize(ranks);
          std::iota(group.ranks.begin(), group.ranks.end(), Rank{0});
        }
        for (const Rank member : group.ranks) {
          if (member < ranks || files.is_single) continue;
          throw nodes->error(
              node, "inputs.values", fmt::format("{}", member),
              fmt::format("group '{}' has a rank that the trace has not (0 to {})", group.name, ranks - 1));
        }
        add_group(all, rank, group);
      }
    }
  }
  return all;
}

workload::Workload open_traces(const std::string& path, const std::string& comm_group_file,
                               const Limits& limits, bool has_tensors) {
  auto shared = std::make_shared<Shared>();
  shared->files = find_traces(path);
  shared->groups = find_groups(shared->files, comm_group_file, limits);
  shared->limits = limits;
  shared->has_tensors = has_tensors;
  return {.name = shared->files.name,
          .ranks = shared->ranks(),
          .groups = shared->groups.groups,
          .streams = streams_of(shared->files.paths.front(), limits),
          .open = [shared](Rank rank) { return std::make_unique<TraceOps>(shared, rank); }};
}

}  // namespace orrery::chakra
