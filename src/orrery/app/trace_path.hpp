// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The longest chain of operations of a rank, found in one pass with bounded memory.
///
/// Of the last million operations it is known when they end at the earliest: after the latest of what they depend on,
/// plus their own recorded time. Operations may come before what they depend on; they wait, up to as many again. A
/// dependency that reaches further back counts as met at once, and the length is then a lower bound (is_exact() false).
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "orrery/base/units.hpp"
#include "orrery/workload/id_set.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::app {

/// Of a chain; the three longest chains need not be the same one.
struct PathLength {
  Duration time{};  ///< Recorded.
  std::uint64_t flops = 0;
  std::uint64_t ops = 0;
};

class TracePath {
 public:
  static constexpr std::size_t kWindow = 1U << 20U;
  explicit TracePath(std::size_t window = kWindow);
  void add(const workload::Op& op);
  [[nodiscard]] const PathLength& longest() const { return longest_; }
  /// Whether nothing reached behind the window.
  [[nodiscard]] bool is_exact() const { return is_exact_; }
  /// Operations that wait for others that never came, or for each other.
  [[nodiscard]] std::uint64_t stuck() const { return waiting_.size(); }

 private:
  struct Waiting {
    PathLength own;
    PathLength before;  // Longest chain in front of it, so far.
    std::size_t missing = 0;
  };
  struct Done {
    std::uint64_t id = 0;
    PathLength end;
  };
  /// Adds the chain that ends at `id` to `before`, or says that it is not there yet.
  bool resolve(std::uint64_t id, PathLength& before);
  void finish(std::uint64_t id, const PathLength& before, const PathLength& own);
  void finish_one(std::uint64_t id, const PathLength& end);
  void remember(std::uint64_t id, const PathLength& end);
  void forget_oldest(std::uint64_t id);

  std::size_t window_;
  std::vector<Done> done_;  // A ring once it is full.
  std::size_t oldest_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> place_of_;  // Looked up only.
  workload::IdSet forgotten_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;                    // By id; looked up only.
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> wanted_;  // Id to those that wait for it.
  PathLength longest_;
  bool is_exact_ = true;
};

}  // namespace orrery::app
