// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/lower.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "orrery/base/check.hpp"

namespace orrery::chakra {
namespace {

using collectives::Operation;
using workload::Op;
using workload::OpKind;
using workload::Rank;

enum Key : std::size_t {
  kIsCpuOp,
  kNumOps,
  kTensorSize,
  kCommType,
  kCommSize,
  kCommPriority,
  kCommSrc,
  kCommDst,
  kCommTag,
  kPgName,
  kInvolvedDim,
  kRoot,
  kSizes,
  kDuration,
  kScale,
  kElement,
  kFloating,
  kDetached,
  kIndependent,
  kAgain,
  kIndependentWhat,
  kIndependentOf,
  kKeys,
};
constexpr std::array<std::string_view, kKeys> kNames{"is_cpu_op",
                                                     "num_ops",
                                                     "tensor_size",
                                                     "comm_type",
                                                     "comm_size",
                                                     "comm_priority",
                                                     "comm_src",
                                                     "comm_dst",
                                                     "comm_tag",
                                                     "pg_name",
                                                     "involved_dim",
                                                     kRootAttribute,
                                                     kSizesAttribute,
                                                     kDurationAttribute,
                                                     kScaleAttribute,
                                                     kElementAttribute,
                                                     kFloatingAttribute,
                                                     kDetachedAttribute,
                                                     kIndependentAttribute,
                                                     kAgainAttribute,
                                                     kIndependentWhatAttribute,
                                                     kIndependentOfAttribute};

struct CommType {
  Operation operation;
  bool is_block;
};
/// By Chakra's number.
constexpr std::array<CommType, 10> kCommTypes{{{Operation::kAllReduce, false},
                                               {Operation::kReduce, false},
                                               {Operation::kAllGather, false},
                                               {Operation::kGather, false},
                                               {Operation::kScatter, false},
                                               {Operation::kBroadcast, false},
                                               {Operation::kAllToAll, false},
                                               {Operation::kReduceScatter, false},
                                               {Operation::kReduceScatter, true},
                                               {Operation::kBarrier, false}}};

std::string shown(ValueType type, std::uint64_t bits) {
  return is_signed(type) ? fmt::format("{}", static_cast<std::int64_t>(bits)) : fmt::format("{}", bits);
}

/// The attributes of one node that mean something to us.
class Attributes {
 public:
  Attributes(const Node& node, const NodeSource& from) : node_{node}, from_{from} {
    for (const Attribute& attribute : node.attributes) {
      for (std::size_t key = 0; key < kKeys; ++key) {
        if (attribute.name != kNames.at(key)) continue;
        if (found_.at(key) != nullptr) fail(static_cast<Key>(key), {}, "given twice");
        found_.at(key) = &attribute;
        break;
      }
    }
  }

  [[nodiscard]] bool has(Key key) const { return found_.at(key) != nullptr; }

  [[nodiscard]] std::int64_t integer(Key key, std::int64_t least, std::int64_t most) const {
    const Attribute* attribute = found_.at(key);
    if (attribute == nullptr) fail(key, {}, "missing: a node of this kind needs it");
    if (!is_integer(attribute->type) || attribute->is_list) {
      fail(key, {}, fmt::format("expected an integer, found {}", kind_of(*attribute)));
    }
    return checked(key, attribute->type, attribute->number, least, most);
  }

  [[nodiscard]] std::int64_t integer_or(Key key, std::int64_t otherwise, std::int64_t least,
                                        std::int64_t most) const {
    return has(key) ? integer(key, least, most) : otherwise;
  }

  /// A double from 0.
  [[nodiscard]] double factor(Key key) const {
    const Attribute& attribute = *found_.at(key);
    if (attribute.type != ValueType::kDouble || attribute.is_list) {
      fail(key, {}, fmt::format("expected a double, found {}", kind_of(attribute)));
    }
    const auto value = std::bit_cast<double>(attribute.number);
    if (!std::isfinite(value) || value < 0) fail(key, fmt::format("{}", value), "expected a factor, from 0");
    return value;
  }

  [[nodiscard]] Bytes bytes(Key key) const { return Bytes{integer(key, 0, kMost)}; }

  [[nodiscard]] std::string group() const {
    const Attribute* attribute = found_.at(kPgName);
    if (attribute == nullptr) return {};
    if (attribute->is_list || !(is_textual(attribute->type) || is_integer(attribute->type))) {
      fail(kPgName, {}, fmt::format("expected the name of a process group, found {}", kind_of(*attribute)));
    }
    std::string name =
        is_textual(attribute->type) ? attribute->text : shown(attribute->type, attribute->number);
    return name == "0" ? std::string{} : name;  // Both mean all ranks.
  }

  [[nodiscard]] std::string text_or_none(Key key) const {
    const Attribute* attribute = found_.at(key);
    if (attribute == nullptr) return {};
    if (attribute->is_list || !is_textual(attribute->type)) {
      fail(key, {}, fmt::format("expected a text, found {}", kind_of(*attribute)));
    }
    return attribute->text;
  }

  [[nodiscard]] const std::vector<std::uint64_t>& numbers(Key key) const {
    const Attribute& attribute = *found_.at(key);
    if (!is_integer(attribute.type) || !attribute.is_list) {
      fail(key, {}, fmt::format("expected a list of integers, found {}", kind_of(attribute)));
    }
    return attribute.numbers;
  }

  [[nodiscard]] std::int64_t checked(Key key, ValueType type, std::uint64_t bits, std::int64_t least,
                                     std::int64_t most) const {
    const auto value = static_cast<std::int64_t>(bits);
    const bool is_too_large = !is_signed(type) && value < 0;
    if (is_too_large || value < least || value > most) {
      fail(key, shown(type, bits), fmt::format("expected {} to {}", least, most));
    }
    return value;
  }
  [[nodiscard]] ValueType type(Key key) const { return found_.at(key)->type; }

  [[noreturn]] void fail(Key key, std::string value, std::string expected) const {
    throw from_.error(node_, kNames.at(key), std::move(value), std::move(expected));
  }

  static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

 private:
  static std::string kind_of(const Attribute& attribute) {
    return fmt::format("{}{}", to_text(attribute.type), attribute.is_list ? " list" : "");
  }

  const Node& node_;
  const NodeSource& from_;
  std::array<const Attribute*, kKeys> found_{};
};

constexpr std::int64_t kMostRank = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostElement = 1024;

void lower_times(const Node& node, const NodeSource& from, const Attributes& attributes, Op& op) {
  constexpr std::uint64_t kPicosecondsPerMicrosecond = 1'000'000;
  constexpr auto kMostMicros =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / kPicosecondsPerMicrosecond;
  if (node.duration_micros > kMostMicros) {
    throw from.error(node, "duration_micros", fmt::format("{}", node.duration_micros),
                     "expected at most 106 days");
  }
  op.recorded = Duration{static_cast<std::int64_t>(node.duration_micros * kPicosecondsPerMicrosecond)};
  if (attributes.has(kDuration)) {
    op.recorded = Duration{attributes.integer(kDuration, 0, Attributes::kMost)};
  }
  if (attributes.has(kScale)) op.recorded_scale = attributes.factor(kScale);
}

void lower_independent(const Attributes& attributes, Op& op) {
  if (!attributes.has(kIndependent)) {
    for (const Key key : {kAgain, kIndependentWhat, kIndependentOf}) {
      if (!attributes.has(key)) continue;
      attributes.fail(key, {}, fmt::format("means nothing without {}", kIndependentAttribute));
    }
    return;
  }
  workload::Independent& found = op.independent.emplace();
  const std::int64_t time = attributes.integer(kIndependent, 0, count_ps(op.recorded));
  found.time = Duration{time};
  found.again = Duration{attributes.integer_or(kAgain, 0, 0, Attributes::kMost - time)};
  found.what = attributes.text_or_none(kIndependentWhat);
  found.of = static_cast<std::uint64_t>(attributes.integer(kIndependentOf, 0, Attributes::kMost));
}

void lower_collective(const Attributes& attributes, Op& op) {
  op.kind = OpKind::kCollective;
  constexpr auto kLast = static_cast<std::int64_t>(kCommTypes.size()) - 1;
  const CommType& type = kCommTypes.at(static_cast<std::size_t>(attributes.integer(kCommType, 0, kLast)));
  op.operation = type.operation;
  op.is_block = type.is_block;
  if (op.operation != Operation::kBarrier || attributes.has(kCommSize)) op.size = attributes.bytes(kCommSize);
  op.group = attributes.group();
  op.root = static_cast<Rank>(attributes.integer_or(kRoot, 0, 0, kMostRank));
  op.element = Bytes{attributes.integer_or(kElement, 1, 1, kMostElement)};
  op.is_floating = attributes.integer_or(kFloating, 1, 0, 1) != 0;
  if (attributes.has(kInvolvedDim)) {
    for (const std::uint64_t is_involved : attributes.numbers(kInvolvedDim)) {
      op.dims.push_back(is_involved != 0);
    }
  }
  if (attributes.has(kSizes)) {
    for (const std::uint64_t size : attributes.numbers(kSizes)) {
      op.sizes.emplace_back(attributes.checked(kSizes, attributes.type(kSizes), size, 0, Attributes::kMost));
    }
  }
}

void lower_message(const Attributes& attributes, std::optional<Rank> rank, bool is_send, Op& op) {
  op.kind = is_send ? OpKind::kSend : OpKind::kReceive;
  const Key peer = is_send ? kCommDst : kCommSrc;
  const Key own = is_send ? kCommSrc : kCommDst;
  op.peer = static_cast<Rank>(attributes.integer(peer, 0, kMostRank));
  if (attributes.has(own)) {
    const std::int64_t given = attributes.integer(own, 0, kMostRank);
    if (rank && given != *rank) {
      attributes.fail(own, fmt::format("{}", given),
                      fmt::format("expected {}: the rank whose file this is", *rank));
    }
  }
  op.size = attributes.bytes(kCommSize);
  op.tag = attributes.integer(kCommTag, std::numeric_limits<std::int64_t>::min(), Attributes::kMost);
}

}  // namespace

void lower(const Node& node, const NodeSource& from, std::optional<Rank> rank, Op& op) {
  const Attributes attributes{node, from};
  op.clear();
  op.id = node.id;
  op.name = node.name;
  op.data_deps = node.data_deps;
  op.control_deps = node.ctrl_deps;
  lower_times(node, from, attributes, op);
  op.on_cpu = attributes.integer_or(kIsCpuOp, 0, 0, 1) != 0;
  op.is_detached = attributes.integer_or(kDetached, 0, 0, 1) != 0;
  op.flops = static_cast<std::uint64_t>(attributes.integer_or(kNumOps, 0, 0, Attributes::kMost));
  if (attributes.has(kTensorSize)) op.tensor = attributes.bytes(kTensorSize);
  op.priority =
      attributes.integer_or(kCommPriority, 0, std::numeric_limits<std::int64_t>::min(), Attributes::kMost);
  switch (node.type) {
    case NodeType::kInvalid:
    case NodeType::kMetadata:
      return;
    case NodeType::kComp:
      op.kind = OpKind::kCompute;
      return lower_independent(attributes, op);
    case NodeType::kStorage:
    case NodeType::kBatch:
    case NodeType::kCheckpoint:  // Work of the host that took as long as it was recorded to.
      op.kind = OpKind::kCompute;
      op.on_cpu = true;
      return;
    case NodeType::kMemLoad:
    case NodeType::kMemStore:
      op.kind = node.type == NodeType::kMemLoad ? OpKind::kLoad : OpKind::kStore;
      op.tensor = attributes.bytes(kTensorSize);
      return;
    case NodeType::kCommSend:
    case NodeType::kCommRecv:
      return lower_message(attributes, rank, node.type == NodeType::kCommSend, op);
    case NodeType::kCommColl:
      return lower_collective(attributes, op);
  }
  throw from.error(node, "type", fmt::format("{}", static_cast<std::uint32_t>(node.type)),
                   "no kind of node that the schema knows; expected 0 to 10");
}

std::int64_t comm_type_of(const Op& op) {
  for (std::size_t i = 0; i < kCommTypes.size(); ++i) {
    if (kCommTypes.at(i).operation == op.operation && kCommTypes.at(i).is_block == op.is_block) {
      return static_cast<std::int64_t>(i);
    }
  }
  throw Bug{fmt::format("{} is no collective of Chakra", collectives::to_text(op.operation))};
}

}  // namespace orrery::chakra
