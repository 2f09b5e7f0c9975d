// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a kernel takes from a sender at once, of one connection: the sender has done with a message that finds room
/// among those that are still under way. One that does not is the sender's until it arrives.
#include <deque>
#include <utility>

#include "orrery/base/units.hpp"

namespace orrery::collectives {

class SendBuffer {
 public:
  /// Whether the sender has done with it.
  bool take(Bytes size, Bytes room) {
    const bool fits = under_way_ + size <= room;
    under_way_ += size;
    messages_.emplace_back(size, fits);
    return fits;
  }
  /// The oldest has arrived. Whether its sender had done with it before.
  bool arrive() {
    const auto [size, fitted] = messages_.front();
    messages_.pop_front();
    under_way_ -= size;
    return fitted;
  }

 private:
  Bytes under_way_;
  std::deque<std::pair<Bytes, bool>> messages_;
};

}  // namespace orrery::collectives
