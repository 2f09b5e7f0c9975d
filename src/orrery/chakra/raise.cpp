// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "orrery/base/check.hpp"
#include "orrery/chakra/lower.hpp"

namespace orrery::chakra {
namespace {

using collectives::Operation;
using workload::Op;
using workload::OpKind;

bool is_rooted(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kReduce ||
         operation == Operation::kGather || operation == Operation::kScatter;
}

NodeType type_of(const Op& op) {
  switch (op.kind) {
    case OpKind::kNone:
      return NodeType::kInvalid;
    case OpKind::kCompute:
      return NodeType::kComp;
    case OpKind::kCollective:
      return NodeType::kCommColl;
    case OpKind::kSend:
      return NodeType::kCommSend;
    case OpKind::kReceive:
      return NodeType::kCommRecv;
    case OpKind::kLoad:
      return NodeType::kMemLoad;
    case OpKind::kStore:
      return NodeType::kMemStore;
  }
  ORRERY_CHECK(false, "no such kind of operation");
}

void add_collective(const Op& op, Node& node) {
  node.attributes.push_back(Attribute::of_int64("comm_type", comm_type_of(op)));
  node.attributes.push_back(Attribute::of_int64("comm_size", op.size.count()));
  if (!op.group.empty()) node.attributes.push_back(Attribute::of_string("pg_name", op.group));
  if (is_rooted(op.operation)) {
    node.attributes.push_back(Attribute::of_int64(std::string{kRootAttribute}, op.root));
  }
  if (op.element != Bytes{1}) {
    node.attributes.push_back(Attribute::of_int64(std::string{kElementAttribute}, op.element.count()));
  }
  if (!op.is_floating) {
    node.attributes.push_back(Attribute::of_bool(std::string{kFloatingAttribute}, false));
  }
  if (!op.dims.empty()) {
    std::vector<std::uint64_t> dims{op.dims.begin(), op.dims.end()};
    node.attributes.push_back(Attribute::of_numbers("involved_dim", ValueType::kBool, std::move(dims)));
  }
  if (!op.sizes.empty()) {
    std::vector<std::uint64_t> sizes;
    for (const Bytes size : op.sizes) sizes.push_back(static_cast<std::uint64_t>(size.count()));
    node.attributes.push_back(
        Attribute::of_numbers(std::string{kSizesAttribute}, ValueType::kUint64, std::move(sizes)));
  }
}

void add_message(const Op& op, workload::Rank rank, Node& node) {
  const bool is_send = op.kind == OpKind::kSend;
  node.attributes.push_back(Attribute::of_int64("comm_src", is_send ? rank : op.peer));
  node.attributes.push_back(Attribute::of_int64("comm_dst", is_send ? op.peer : rank));
  node.attributes.push_back(Attribute::of_int64("comm_tag", op.tag));
  node.attributes.push_back(Attribute::of_int64("comm_size", op.size.count()));
}

void add_independent(const workload::Independent& independent, Node& node) {
  std::vector<Attribute>& attributes = node.attributes;
  attributes.push_back(Attribute::of_int64(std::string{kIndependentAttribute}, count_ps(independent.time)));
  attributes.push_back(Attribute::of_int64(std::string{kAgainAttribute}, count_ps(independent.again)));
  attributes.push_back(Attribute::of_string(std::string{kIndependentWhatAttribute}, independent.what));
  attributes.push_back(Attribute::of_uint64(std::string{kIndependentOfAttribute}, independent.of));
}

}  // namespace

Node to_node(const Op& op, workload::Rank rank) {
  Node node;
  node.id = op.id;
  node.name = op.name;
  node.type = type_of(op);
  node.ctrl_deps = op.control_deps;
  node.data_deps = op.data_deps;
  constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;
  const std::int64_t duration = count_ps(op.recorded);
  node.duration_micros = static_cast<std::uint64_t>(duration / kPicosecondsPerMicrosecond);
  node.attributes.push_back(Attribute::of_bool("is_cpu_op", op.on_cpu));
  if (duration % kPicosecondsPerMicrosecond != 0) {
    node.attributes.push_back(Attribute::of_int64(std::string{kDurationAttribute}, duration));
  }
  if (op.recorded_scale != 1) {
    node.attributes.push_back(Attribute::of_double(std::string{kScaleAttribute}, op.recorded_scale));
  }
  if (op.is_detached) node.attributes.push_back(Attribute::of_bool(std::string{kDetachedAttribute}, true));
  if (op.flops != 0) node.attributes.push_back(Attribute::of_uint64("num_ops", op.flops));
  const bool moves_memory = op.kind == OpKind::kLoad || op.kind == OpKind::kStore;
  if (op.tensor != Bytes{} || moves_memory) {
    node.attributes.push_back(
        Attribute::of_uint64("tensor_size", static_cast<std::uint64_t>(op.tensor.count())));
  }
  if (op.priority != 0) node.attributes.push_back(Attribute::of_int64("comm_priority", op.priority));
  if (op.independent && op.kind == OpKind::kCompute) add_independent(*op.independent, node);
  if (op.kind == OpKind::kCollective) add_collective(op, node);
  if (op.kind == OpKind::kSend || op.kind == OpKind::kReceive) add_message(op, rank, node);
  return node;
}

}  // namespace orrery::chakra
