// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What is kept of a collective, send or receive while it runs, and who is told how it goes.
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "orrery/collectives/run/collective_run.hpp"
#include "orrery/collectives/run/wakefulness.hpp"
#include "orrery/topology/cluster.hpp"
#include "orrery/workload/op.hpp"
#include "orrery/workload/rank_program.hpp"

namespace orrery::workload {

struct Communication {
  OpKind kind = OpKind::kCollective;
  collectives::Operation operation = collectives::Operation::kAllReduce;
  std::uint64_t id = 0;
  std::string name;
  Bytes size;
  std::uint32_t group = 0;  ///< Index into the groups; 0 is everybody.
  Rank root = 0;
  Rank peer = 0;
  std::int64_t tag = 0;
  std::vector<Bytes> sizes{};
  Bytes element{1};
  bool is_floating = true;
};

/// "node 17 'grads': all_reduce of 4MiB in group 'tp'".
[[nodiscard]] std::string to_text(const Communication& what, const std::string& group = {});

/// A list of ranks that call collectives together.
struct ProcessGroup {
  std::string name;  ///< "" is everybody.
  std::vector<Rank> ranks;
  std::vector<topology::NodeId> nodes{};
  std::vector<std::string> names{};  ///< "rank 3" for each member; of small use unless observed.
  collectives::Connections connections{};
  std::unordered_map<Rank, Rank> member_of{};  ///< Empty when member and rank are the same number.

  [[nodiscard]] Rank size() const { return static_cast<Rank>(ranks.size()); }
  /// kNoSlot when the rank is not in it.
  [[nodiscard]] Rank member(Rank rank) const;
};

/// "group 'tp'", or "the group of all ranks".
[[nodiscard]] std::string to_text(const ProcessGroup& group);

/// The groups of a workload; number 0 is everybody. InputError for a rank that does not exist or stands twice.
[[nodiscard]] std::vector<ProcessGroup> make_groups(const Workload& workload,
                                                    const topology::Cluster& cluster);

/// Told by whoever carries communication out.
class CommunicationListener {
 public:
  /// Everyone is there: from now on it is bytes that are waited for, no longer others.
  virtual void on_under_way(Rank rank, Slot slot) = 0;
  virtual void on_communicated(Rank rank, Slot slot) = 0;

 protected:
  ~CommunicationListener() = default;
};

}  // namespace orrery::workload
