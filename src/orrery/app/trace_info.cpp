// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/trace_info.hpp"

#include <fmt/format.h>

#include "orrery/base/digest.hpp"
#include "orrery/base/error.hpp"
#include "orrery/chakra/lower.hpp"
#include "orrery/chakra/node_source.hpp"
#include "orrery/chakra/process_groups.hpp"
#include "orrery/chakra/trace_files.hpp"

namespace orrery::app {
namespace {

using workload::Op;
using workload::OpKind;
using workload::Rank;

void add(Traffic& traffic, Bytes bytes) {
  ++traffic.count;
  traffic.bytes += static_cast<std::uint64_t>(bytes.count());
}

void add(Traffic& traffic, const Traffic& other) {
  traffic.count += other.count;
  traffic.bytes += other.bytes;
}

std::string operation_name(const Op& op) {
  return std::string{collectives::to_text(op.operation)} + (op.is_block ? "_block" : "");
}

void count(const Op& op, TraceSums& sums) {
  if (op.on_cpu) ++sums.on_cpu;
  sums.flops += op.flops;
  const auto recorded = static_cast<std::uint64_t>(count_ps(op.recorded));
  switch (op.kind) {
    case OpKind::kNone:
      return;
    case OpKind::kCompute:
      (op.on_cpu ? sums.host_ps : sums.compute_ps) += recorded;
      return;
    case OpKind::kCollective:
      add(sums.collectives[operation_name(op)], op.size);
      break;
    case OpKind::kSend:
      add(sums.sends, op.size);
      break;
    case OpKind::kReceive:
      add(sums.receives, op.size);
      break;
    case OpKind::kLoad:
      add(sums.loads, op.tensor);
      break;
    case OpKind::kStore:
      add(sums.stores, op.tensor);
      break;
  }
  sums.transfer_ps += recorded;
}

void digest_op(const Op& op, Digest& digest) {
  digest.add(op.id);
  digest.add(static_cast<std::uint64_t>(op.kind) << 32U | static_cast<std::uint64_t>(op.operation) << 8U |
             static_cast<std::uint64_t>(op.on_cpu));
  digest.add(static_cast<std::uint64_t>(op.size.count()));
  digest.add(static_cast<std::uint64_t>(count_ps(op.recorded)) ^ op.flops);
  for (const std::uint64_t id : op.data_deps) digest.add(id);
  for (const std::uint64_t id : op.control_deps) digest.add(~id);
}

/// What a node still says when it lacks what its kind needs.
void fill_bare(const chakra::Node& node, Op& op) {
  op.clear();
  op.id = node.id;
  op.data_deps = node.data_deps;
  op.control_deps = node.ctrl_deps;
}

/// One rank, read from end to end.
class RankReader {
 public:
  RankReader(const std::string& path, std::optional<Rank> rank, TraceInfo& info, Digest& digest)
      : nodes_{chakra::open_nodes(path)}, rank_{rank}, info_{info}, digest_{digest} {}

  void read(TraceRank& into) {
    into.version = nodes_->metadata().version;
    chakra::Node node;
    Op op;
    TracePath path;
    std::array<std::uint64_t, 16> types{};
    while (nodes_->next(node)) {
      lower_or_note(node, op, into.sums);
      ++types.at(std::min<std::size_t>(static_cast<std::size_t>(node.type), types.size() - 1));
      ++into.sums.nodes;
      into.sums.dependencies += node.data_deps.size() + node.ctrl_deps.size();
      digest_op(op, digest_);
      path.add(op);
      if (node.type == chakra::NodeType::kMetadata) note_groups(node);
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types.at(i) == 0) continue;
      const std::string_view name = chakra::to_text(static_cast<chakra::NodeType>(i));
      into.sums.types[name.empty() ? "unknown" : std::string{name}] += types.at(i);
    }
    into.path = path.longest();
    into.is_path_exact = path.is_exact();
    into.stuck = path.stuck();
  }

 private:
  void lower_or_note(const chakra::Node& node, Op& op, TraceSums& sums) {
    try {
      chakra::lower(node, *nodes_, rank_, op);
      count(op, sums);
    } catch (const InputError& error) {
      if (sums.unclear++ == 0) info_.warnings.emplace_back(error.what());
      fill_bare(node, op);
    }
  }

  void note_groups(const chakra::Node& node) {
    for (chakra::ProcessGroup& group : chakra::process_groups(node)) {
      info_.groups.try_emplace(std::move(group.name), std::move(group.ranks));
    }
  }

  std::unique_ptr<chakra::NodeSource> nodes_;
  std::optional<Rank> rank_;
  TraceInfo& info_;
  Digest& digest_;
};

}  // namespace

void TraceSums::add(const TraceSums& other) {
  nodes += other.nodes;
  dependencies += other.dependencies;
  on_cpu += other.on_cpu;
  for (const auto& [name, nodes_of_type] : other.types) types[name] += nodes_of_type;
  for (const auto& [name, traffic] : other.collectives) app::add(collectives[name], traffic);
  app::add(sends, other.sends);
  app::add(receives, other.receives);
  app::add(loads, other.loads);
  app::add(stores, other.stores);
  flops += other.flops;
  compute_ps += other.compute_ps;
  host_ps += other.host_ps;
  transfer_ps += other.transfer_ps;
  unclear += other.unclear;
}

TraceInfo trace_info(const std::string& path) {
  const chakra::TraceFiles files = chakra::find_traces(path);
  TraceInfo info{.name = files.name};
  Digest digest;
  for (std::size_t i = 0; i < files.paths.size(); ++i) {
    const auto rank = files.is_single ? files.single_rank : static_cast<Rank>(i);
    TraceRank& entry = info.ranks.emplace_back();
    entry.rank = rank.value_or(0);
    entry.file = files.paths[i];
    RankReader{files.paths[i], rank, info, digest}.read(entry);
    info.totals.add(entry.sums);
  }
  info.digest = digest.value();
  return info;
}

}  // namespace orrery::app
