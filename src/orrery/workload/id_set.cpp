// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/id_set.hpp"

#include <iterator>

namespace orrery::workload {

bool IdSet::contains(std::uint64_t id) const {
  const auto after = last_of_.upper_bound(id);
  return after != last_of_.begin() && std::prev(after)->second >= id;
}

bool IdSet::insert(std::uint64_t id) {
  const auto after = last_of_.upper_bound(id);
  const bool touches_after = after != last_of_.end() && after->first - 1 == id;
  if (after != last_of_.begin()) {
    const auto before = std::prev(after);
    if (before->second >= id) return false;
    if (before->second + 1 == id) {
      before->second = touches_after ? after->second : id;
      if (touches_after) last_of_.erase(after);
      return true;
    }
  }
  if (touches_after) {
    // The key changes, the node stays.
    auto node = last_of_.extract(after);
    node.key() = id;
    last_of_.insert(std::move(node));
  } else {
    last_of_.emplace_hint(after, id, id);
  }
  return true;
}

}  // namespace orrery::workload
