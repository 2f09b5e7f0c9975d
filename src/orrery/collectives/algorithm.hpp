// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A collective algorithm: a name, the cases it is defined for, and a pure function from a request to a
/// schedule. A new one is one file in plan/ and one line in plan/algorithms.def.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives {

/// In-network reduction: who hands its data to whom. Participants 0..ranks-1 are ranks, the rest switches.
struct AggregationTree {
  std::vector<Rank> parent{};  ///< Parent participant of each participant; the root is its own parent.
};

/// What a schedule is asked for.
struct PlanRequest {
  Operation operation = Operation::kAllReduce;
  Rank ranks = 0;
  Rank root = 0;             ///< For broadcast, reduce, gather, scatter; the sender of send_receive.
  std::uint32_t pieces = 1;  ///< Pipelining: parts a buffer (or a rank's block) is cut into.
  std::uint32_t window = 0;  ///< Rings: pieces sent ahead of the first received one; 0 = all of them.
  std::vector<std::uint32_t> dims{};  ///< Hierarchical: sizes, fastest first, product = ranks. Empty = flat.
  AggregationTree tree{};             ///< Offload only.
};

struct Algorithm {
  std::string name;
  std::string help;  ///< One line, shown by `orrery describe`.
  std::vector<Operation> operations;
  /// Why this request cannot be planned ("needs a power of two"), or "" when it can. May be left empty.
  std::function<std::string(const PlanRequest&)> refusal;
  std::function<std::unique_ptr<Schedule>(const PlanRequest&)> plan;
  /// Closed form: bytes that cross from any participant to another, summed, for a layout of plan()'s chunks.
  std::function<Bytes(const PlanRequest&, const Layout&)> wire_bytes;
};

/// An owned list of algorithms; order is that of algorithms.def.
class AlgorithmRegistry {
 public:
  /// A duplicate name is a bug. What holds for every algorithm is added here, so that each states only what
  /// is its own: malformed requests and unlisted operations are refused, planning a refused request is a
  /// bug, and one rank alone sends nothing (`plan` and `wire_bytes` as given see two ranks or more).
  void add(Algorithm algorithm);
  [[nodiscard]] const std::vector<Algorithm>& all() const& { return algorithms_; }
  const std::vector<Algorithm>& all() const&& = delete;
  /// InputError that lists the known names when there is none of that name.
  [[nodiscard]] const Algorithm& get(const std::string& name) const&;
  const Algorithm& get(const std::string& name) const&& = delete;
  /// Those that can plan the request, in order.
  [[nodiscard]] std::vector<const Algorithm*> able(const PlanRequest& request) const;

 private:
  std::vector<Algorithm> algorithms_;
};

[[nodiscard]] AlgorithmRegistry builtin_algorithms();

}  // namespace orrery::collectives
