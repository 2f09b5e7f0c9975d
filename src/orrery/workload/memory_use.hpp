// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How much memory the tensors of a rank take over time, where its trace names them. A tensor is there from when the
/// first operation that writes it begins, or from the start when one reads it before, until the last that uses it
/// ends; one that nobody reads is a result and stays.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "orrery/workload/op.hpp"

namespace orrery::workload {

/// So many bytes from then on.
struct MemoryStep {
  Time at{};
  Bytes bytes;
  bool operator==(const MemoryStep&) const = default;
};

class MemoryUse {
 public:
  explicit MemoryUse(Rank ranks) : ranks_(ranks) {}

  /// An operation that will run.
  void expect(Rank rank, const Op& op) {
    if (!op.tensors.empty()) ranks_[rank].expected.emplace(op.id, op.tensors);
  }
  /// It has run.
  void finish(Rank rank, std::uint64_t id, Time begin, Time end);

  /// By ascending time; empty when the trace says nothing.
  [[nodiscard]] std::vector<MemoryStep> steps(Rank rank) const;

 private:
  struct Life {
    Bytes size;
    Time from{};
    Time to{};
    bool is_read = false;
  };
  struct RankTensors {
    std::unordered_map<std::uint64_t, std::vector<TensorUse>> expected;  // By operation.
    std::unordered_map<std::string, Life> lives;
  };
  std::vector<RankTensors> ranks_;
};

}  // namespace orrery::workload
