// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A set of numbers kept as intervals: ids of finished operations, which mostly come in runs.
#include <cstddef>
#include <cstdint>
#include <map>

namespace orrery::workload {

class IdSet {
 public:
  /// False when it was in already.
  bool insert(std::uint64_t id);
  [[nodiscard]] bool contains(std::uint64_t id) const;
  /// Intervals that it takes to say what is in.
  [[nodiscard]] std::size_t intervals() const { return last_of_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> last_of_;  // First number of each interval to its last.
};

}  // namespace orrery::workload
