// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A collective given as ET files: sends, receives and compute with dependencies, all issued as they become ready,
/// without endpoint delay. Sizes are those of the files.
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "orrery/astra/trace.hpp"

namespace orrery::astra {

class Machine;

/// The nodes of one file that are ready, in the order in which ASTRA-sim finds them: that of its hash tables, which
/// decides who is first on a link. So these are the same tables, filled in the same order.
class HashedOrder {
 public:
  /// In the order of the file, with parents as they stand there.
  void add(std::uint64_t id, const std::vector<std::uint64_t>& parents);
  void seal();
  [[nodiscard]] std::vector<std::uint64_t> ready() const { return {free_.begin(), free_.end()}; }
  void take(std::uint64_t id);
  void finish(std::uint64_t id);
  [[nodiscard]] bool is_done() const { return free_.empty() && ongoing_ == 0; }

 private:
  using Set = std::unordered_set<std::uint64_t>;
  void allocate(std::uint64_t id);
  std::unordered_map<std::uint64_t, Set> parents_;
  std::unordered_map<std::uint64_t, Set> children_;
  Set free_;
  std::size_t ongoing_ = 0;
};

struct CustomTrace {
  std::shared_ptr<const Trace> trace;
  HashedOrder order;  ///< As it is before anything runs.
};

class CustomRun {
 public:
  /// For one collective of one rank; `prefix` names the files.
  [[nodiscard]] static std::unique_ptr<CustomRun> open(Machine& machine, std::uint32_t rank, const Step& step,
                                                       const std::string& prefix);
  void bind(std::uint32_t chunk) { chunk_ = chunk; }
  void issue_ready();
  /// The step is done. When it was the last, the chunk goes on and this object is gone.
  void done(std::uint32_t step);

 private:
  CustomRun(Machine& machine, std::uint32_t rank, std::uint32_t group, const CustomTrace& trace)
      : machine_{machine}, rank_{rank}, group_{group}, trace_{trace.trace}, order_{trace.order} {}
  void issue(std::uint32_t index);
  [[nodiscard]] std::uint32_t real_rank(std::uint32_t place) const;

  Machine& machine_;
  std::uint32_t rank_;
  std::uint32_t group_;
  std::shared_ptr<const Trace> trace_;
  HashedOrder order_;
  std::uint32_t chunk_ = 0;
};

}  // namespace orrery::astra
