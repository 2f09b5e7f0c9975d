// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/operation_text.hpp"

#include <fmt/format.h>

#include <array>
#include <numeric>

#include "orrery/base/text.hpp"
#include "orrery/base/units.hpp"

namespace orrery::live {
namespace {

/// In the order of c10::ScalarType, which is part of torch's file format and does not change.
constexpr std::array kTypes{"uint8",           "int8",
                            "int16",           "int32",
                            "int64",           "float16",
                            "float32",         "float64",
                            "complex32",       "complex64",
                            "complex128",      "bool",
                            "qint8",           "quint8",
                            "qint32",          "bfloat16",
                            "quint4x2",        "quint2x4",
                            "bits1x8",         "bits2x4",
                            "bits4x2",         "bits8",
                            "bits16",          "float8_e5m2",
                            "float8_e4m3fn",   "float8_e5m2fnuz",
                            "float8_e4m3fnuz", "uint16",
                            "uint32",          "uint64"};

constexpr std::array kReductions{"sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum"};

bool has_root(const orrery_op& op) {
  return op.kind == ORRERY_BROADCAST || op.kind == ORRERY_REDUCE || op.kind == ORRERY_GATHER ||
         op.kind == ORRERY_SCATTER;
}

}  // namespace

std::string dtype_name(std::uint32_t dtype) {
  return dtype < kTypes.size() ? kTypes[dtype] : fmt::format("type {}", dtype);
}

bool is_floating(std::uint32_t dtype) {
  const std::string name = dtype_name(dtype);
  return name.starts_with("float") || name.starts_with("bfloat") || name.starts_with("complex");
}

std::string reduction_name(std::uint32_t reduction) {
  return reduction < kReductions.size() ? kReductions[reduction] : fmt::format("reduction {}", reduction);
}

const std::int64_t* sizes_of(const orrery_op& op) { return reinterpret_cast<const std::int64_t*>(&op + 1); }

bool is_collective(const orrery_op& op) { return op.kind <= ORRERY_MONITORED_BARRIER; }

std::int64_t total_bytes(const orrery_op& op) {
  const std::int64_t* const sizes = sizes_of(op);
  switch (op.kind) {
    case ORRERY_ALL_GATHER:
    case ORRERY_REDUCE_SCATTER:
      return std::accumulate(sizes, sizes + op.size_count, std::int64_t{0});
    case ORRERY_ALL_TO_ALL:
      return std::accumulate(sizes, sizes + op.size_count / 2, std::int64_t{0});
    default:
      return op.size_count == 0 ? 0 : sizes[0];
  }
}

std::string to_text(const Group& group) {
  if (group.name == "0") return "the default group";
  std::vector<std::string> ranks;
  for (const std::uint32_t rank : group.ranks) ranks.push_back(std::to_string(rank));
  return fmt::format("group '{}' (ranks {})", group.name, join(ranks, ", "));
}

std::string to_text(const orrery_op& op, const Group& group) {
  std::string text = op.name;
  if (is_collective(op)) {
    text += fmt::format(" #{} of {}", op.sequence, to_text(group));
  } else {
    const bool is_send = op.kind == ORRERY_SEND;
    text += op.peer < 0 ? std::string{" from anybody"}
                        : fmt::format(" {} rank {}", is_send ? "to" : "from",
                                      group.ranks[static_cast<std::size_t>(op.peer)]);
    text += fmt::format(", tag {}, in {}", op.tag, to_text(group));
  }
  if (op.size_count > 0) {
    text += fmt::format(": {} {}", orrery::to_text(Bytes{total_bytes(op)}), dtype_name(op.dtype));
  }
  if (op.kind == ORRERY_ALL_REDUCE || op.kind == ORRERY_REDUCE || op.kind == ORRERY_REDUCE_SCATTER) {
    text += ", " + reduction_name(op.reduction);
  }
  if (has_root(op)) text += fmt::format(", root rank {}", group.ranks[static_cast<std::size_t>(op.peer)]);
  if (op.where[0] != '\0') text += fmt::format(", at {}", op.where);
  return text;
}

std::string rank_name(std::uint32_t rank) { return fmt::format("rank {}", rank); }

}  // namespace orrery::live
