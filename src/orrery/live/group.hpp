// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A process group of the program: some of the ranks, in an order.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "orrery/base/error.hpp"
#include "orrery/collectives/run/collective_run.hpp"

namespace orrery::live {

struct Group {
  std::string name;                  ///< As torch calls it; "0" is the default group.
  std::vector<std::uint32_t> ranks;  ///< Global ranks of the members.
  std::unordered_map<std::uint32_t, std::uint32_t> member_of;  ///< The other way round.
  std::vector<topology::NodeId> nodes;
  std::vector<std::string> names;  ///< "rank 3" for each member.
  collectives::Connections connections;

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ranks.size()); }
};

/// "the default group", or "group '3' (ranks 0, 2)".
[[nodiscard]] std::string to_text(const Group& group);

}  // namespace orrery::live
