// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/live_capture.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "orrery/base/byte_sink.hpp"
#include "orrery/base/error.hpp"
#include "orrery/chakra/lower.hpp"
#include "orrery/chakra/trace_writer.hpp"
#include "orrery/live/collectives.hpp"
#include "orrery/live/operation_text.hpp"
#include "orrery/version.hpp"

namespace orrery::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using collectives::Operation;
using workload::Op;
using workload::OpKind;

constexpr std::size_t kWidest = 16;  // Dependencies before they are joined in one node.
constexpr int kTagBits = 32;

std::string name_of(const orrery_op& op) {
  return op.where[0] == '\0' ? std::string{op.name} : fmt::format("{} at {}", op.name, op.where);
}

const char* to_text(live::Pause pause) {
  switch (pause) {
    case live::Pause::kSleep:
      return "sleep";
    case live::Pause::kStore:
      return "store";
    case live::Pause::kPoll:
      return "poll";
    case live::Pause::kOperation:
      return "wait in vain";
    case live::Pause::kNone:
      break;
  }
  return "pause";
}

}  // namespace

LiveCapture::LiveCapture(const topology::Cluster& cluster, std::uint32_t world)
    : cluster_{cluster}, ranks_(world) {}

LiveCapture::~LiveCapture() = default;

Op& LiveCapture::add(Rank& rank, OpKind kind, std::string name) {
  Op& op = rank.ops.emplace_back();
  op.id = rank.ops.size();  // 0 is the node of the groups.
  op.kind = kind;
  op.name = std::move(name);
  op.data_deps = rank.frontier;
  return op;
}

void LiveCapture::compute_until(std::uint32_t rank, Time now) {
  Rank& one = ranks_[rank];
  if (now <= one.at) return;
  Op& op = add(one, OpKind::kCompute, "compute");
  op.recorded = now - one.at;
  op.recorded_scale = cluster_.devices[cluster_.device_of_rank[rank]].compute_scale;
  if (one.awaited.node != 0) one.after.emplace_back(std::exchange(one.awaited, {}), one.ops.size() - 1);
  one.frontier.assign(1, op.id);
  one.at = now;
}

void LiveCapture::build_on(Rank& rank, std::uint64_t handle) {
  const auto found = rank.awaitable.find(handle);
  if (found == rank.awaitable.end()) return;  // It built on it before.
  rank.frontier.push_back(found->second);
  rank.awaited = {.handle = handle, .node = found->second};
  rank.awaitable.erase(found);
  if (rank.frontier.size() < kWidest) return;
  rank.frontier.assign(1, add(rank, OpKind::kNone, "join").id);
}

const std::string& LiveCapture::name_of(const live::Group& group) {
  const auto [found, is_new] = names_.emplace(&group, std::string{});
  if (!is_new) return found->second;
  std::vector<workload::Rank> everybody(ranks_.size());
  std::iota(everybody.begin(), everybody.end(), workload::Rank{0});
  const bool is_default = group.name == "0" && group.ranks == everybody;
  // torch gives a name again when a group was destroyed; "0" is everybody to all readers.
  std::string name = is_default ? std::string{} : group.name;
  for (int copy = 2; name == "0" || members_.contains(name) || (name.empty() && !is_default); ++copy) {
    name = fmt::format("{}#{}", group.name, copy);
  }
  members_.emplace(name, group.ranks);
  found->second = std::move(name);
  return found->second;
}

void LiveCapture::describe_collective(Op& made, const orrery_op& op, const live::Group& group) {
  const std::int64_t* const sizes = live::sizes_of(op);
  const std::size_t members = group.size();
  made.operation = live::operation_of(op);
  made.group = name_of(group);
  if (op.peer >= 0) made.root = group.ranks[static_cast<std::size_t>(op.peer)];
  if (made.operation == Operation::kBarrier) return;
  made.element = Bytes{std::max<std::int64_t>(1, op.element)};
  made.is_floating = live::is_floating(op.dtype);
  const auto is_first = [&](std::int64_t size) { return size == sizes[0]; };
  switch (made.operation) {
    case Operation::kAllGather:
    case Operation::kReduceScatter:
    case Operation::kAllToAll: {
      const bool is_gather = made.operation == Operation::kAllGather;
      made.size = Bytes{is_gather ? *std::max_element(sizes, sizes + members)
                                  : std::accumulate(sizes, sizes + members, std::int64_t{0})};
      // No member of an all_to_all knows alone whether it is even, and all wait for each other's sizes.
      if (made.operation != Operation::kAllToAll && std::all_of(sizes, sizes + members, is_first)) return;
      for (std::size_t i = 0; i < members; ++i) made.sizes.emplace_back(sizes[i]);
      return;
    }
    case Operation::kScatter:
      made.size = Bytes{sizes[0] * static_cast<std::int64_t>(members)};
      return;
    default:
      made.size = Bytes{sizes[0]};
  }
}

void LiveCapture::on_post(std::uint32_t rank, const orrery_op& op, const live::Group& group, Time now) {
  compute_until(rank, now);
  Rank& one = ranks_[rank];
  const bool is_send = op.kind == ORRERY_SEND;
  const bool is_message = is_send || op.kind == ORRERY_RECEIVE;
  const OpKind kind = is_send ? OpKind::kSend : is_message ? OpKind::kReceive : OpKind::kCollective;
  Op& made = add(one, kind, app::name_of(op));
  one.open.emplace(op.handle, one.ops.size() - 1);
  one.awaitable.emplace(op.handle, made.id);
  if (is_message) {
    // Tags of two groups are strangers to each other.
    const auto base = tag_base_.emplace(&group, static_cast<std::int64_t>(tag_base_.size())).first->second;
    made.tag = (base << kTagBits) + op.tag;
    made.size = Bytes{live::sizes_of(op)[0]};
    if (op.peer >= 0) made.peer = group.ranks[static_cast<std::size_t>(op.peer)];
    return;
  }
  describe_collective(made, op, group);
  if (!made.group.empty() && std::ranges::find(one.groups, made.group) == one.groups.end()) {
    one.groups.push_back(made.group);
  }
  const CallKey key{made.group, op.sequence};
  Call& call = calls_[key];
  call.members = group.size();
  ++call.called;
  call_of_.emplace(std::pair{rank, op.handle}, key);
}

void LiveCapture::on_request(std::uint32_t rank, Time now) { compute_until(rank, now); }

void LiveCapture::on_answer(std::uint32_t rank, live::Pause pause, std::uint64_t handle, Time now) {
  Rank& one = ranks_[rank];
  if (handle != 0) {
    build_on(one, handle);
  } else if (now > one.at) {
    Op& op = add(one, OpKind::kCompute, to_text(pause));
    op.recorded = now - one.at;
    op.recorded_scale = 0;
    one.frontier.assign(1, op.id);
  }
  one.at = now;
}

void LiveCapture::on_awaited(std::uint32_t rank, std::uint64_t handle) { build_on(ranks_[rank], handle); }

void LiveCapture::on_ended(std::uint32_t rank, const live::CapturedEnd& end) {
  Rank& one = ranks_[rank];
  const auto found = one.open.find(end.handle);
  if (found == one.open.end()) return;
  Op& op = one.ops[found->second];
  one.open.erase(found);
  op.is_detached = end.is_late;
  if (end.has_failed && failed_.empty()) failed_ = fmt::format("rank {}: {}", rank, op.name);
  if (op.kind == OpKind::kReceive) {
    op.peer = end.source;
    op.size = Bytes{end.bytes};
  }
  const auto call = call_of_.find({rank, end.handle});
  if (call == call_of_.end()) return;
  if (const auto at = calls_.find(call->second); ++at->second.ended == at->second.members) calls_.erase(at);
  call_of_.erase(call);
}

void LiveCapture::settle_open(Rank& rank) {
  const auto index = static_cast<std::uint32_t>(&rank - ranks_.data());
  for (const auto& [handle, place] : rank.open) {
    Op& op = rank.ops[place];
    op.is_detached = true;
    const auto call = call_of_.find({index, handle});
    const bool is_shared =
        call != call_of_.end() && calls_.at(call->second).called == calls_.at(call->second).members;
    if (is_shared) continue;
    op.kind = OpKind::kNone;
    op.group.clear();
    op.sizes.clear();
  }
  rank.open.clear();
}

void LiveCapture::write_rank(std::uint32_t rank, const std::string& path) const {
  const auto sink = open_sink(path);
  const auto writer = chakra::write_trace(path, *sink);
  chakra::GlobalMetadata head;
  head.version = chakra::kSchemaVersion;
  head.attributes.push_back(chakra::Attribute::of_string("orrery_capture", std::string{kVersion}));
  head.attributes.push_back(chakra::Attribute::of_string(std::string{chakra::kStreamsAttribute}, "comm=all"));
  writer->metadata(head);
  Json groups = Json::array();
  for (const std::string& name : ranks_[rank].groups) {
    const std::vector<workload::Rank>& members = members_.at(name);
    groups.push_back({{"pg_name", name}, {"ranks", members}, {"group_size", members.size()}});
  }
  if (!groups.empty()) {
    chakra::Node node;
    node.name = "## process_group:init ##";
    node.type = chakra::NodeType::kMetadata;
    node.inputs = chakra::IoInfo{.values = groups.dump(), .shapes = "[]", .types = "['String']"};
    writer->node(node);
  }
  for (const Op& op : ranks_[rank].ops) writer->node(chakra::to_node(op, rank));
  writer->finish();
  sink->commit();
}

void LiveCapture::add_notes(std::uint32_t rank, const DataflowNotes& notes) {
  Rank& one = ranks_[rank];
  const auto known = notes.read(rank);
  const double scale = cluster_.devices[cluster_.device_of_rank[rank]].compute_scale;
  const auto here = [&](Duration time) {
    return Duration{std::llround(static_cast<double>(count_ps(time)) * scale)};
  };
  for (const auto& [wait, index] : one.after) {
    Op& op = one.ops[index];
    workload::Independent& independent = op.independent.emplace();
    independent.of = wait.node;
    const auto found = known.find(wait.handle);
    if (found == known.end()) continue;
    independent.time = std::min(here(found->second.independent), op.recorded);
    independent.again = here(found->second.again);
    independent.what = found->second.what;
  }
}

void LiveCapture::write(const std::string& folder, const DataflowNotes* notes) {
  if (!failed_.empty()) {
    throw SimulationError{fmt::format(
        "{}: no capture: {} failed, and the program went on; a trace cannot say that", folder, failed_)};
  }
  for (Rank& rank : ranks_) settle_open(rank);
  for (std::uint32_t rank = 0; notes != nullptr && rank < ranks_.size(); ++rank) add_notes(rank, *notes);
  const std::string temporary = fmt::format("{}.{}.tmp", folder, ::getpid());
  std::error_code problem;
  try {
    fs::create_directory(temporary);
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      write_rank(rank, fmt::format("{}/capture.{}.et", temporary, rank));
    }
    fs::remove(folder, problem);  // An empty one may stand there.
    fs::rename(temporary, folder);
  } catch (const fs::filesystem_error& error) {
    fs::remove_all(temporary, problem);
    throw InputError{fmt::format("{}: {}", folder, error.code().message())};
  } catch (...) {
    fs::remove_all(temporary, problem);
    throw;
  }
}

}  // namespace orrery::app
