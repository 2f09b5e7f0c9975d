// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Steps and their dependencies to a Trace: sorted by id, dependencies as indices, cycles refused.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/astra/trace.hpp"

namespace orrery::astra {

class TraceBuilder {
 public:
  explicit TraceBuilder(std::string name) : name_{std::move(name)} {}
  void add(const Step& step, const workload::Op& op);
  [[nodiscard]] std::shared_ptr<Trace> finish();

 private:
  [[nodiscard]] std::uint32_t index_of(std::uint64_t id, std::uint64_t child) const;
  void sort();
  void link();
  /// SimulationError that names a cycle, when there is one.
  void refuse_cycles() const;
  [[noreturn]] void fail_cycle(const std::vector<std::uint32_t>& waiting_for) const;

  std::string name_;
  Trace trace_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> edges_;  // Parent, child.
  bool is_sorted_ = true;
};

}  // namespace orrery::astra
