// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A rank's operations, compact and checked: what the workload layer walks through. Ranks that do the same share one.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "orrery/astra/settings.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::astra {

using workload::OpKind;

inline constexpr std::uint32_t kAllRanks = 0xFFFFFFFF;

struct Step {
  std::uint64_t id = 0;
  std::uint64_t size = 0;      ///< Bytes of a collective or message, or of a tensor.
  std::uint64_t duration = 0;  ///< ns; 0 = not recorded.
  std::uint64_t flops = 0;
  std::uint64_t dims = 0;  ///< Bit per dimension; all ones when the trace does not say.
  OpKind kind = OpKind::kNone;
  bool on_cpu = false;
  bool is_broadcast = false;  ///< ASTRA-sim replays broadcasts.
  Collective collective = Collective::kAllReduce;
  std::int32_t priority = 0;
  std::uint32_t group = kAllRanks;  ///< Index into Groups.
  std::uint32_t peer = 0;
  std::uint32_t tag = 0;
  bool operator==(const Step&) const = default;
};

struct Trace {
  std::vector<Step> steps;                 ///< By id.
  std::vector<std::uint32_t> parents;      ///< How many each waits for.
  std::vector<std::uint32_t> first_child;  ///< steps + 1 entries into `children`.
  std::vector<std::uint32_t> children;
  bool operator==(const Trace&) const = default;
};

struct Group {
  std::int64_t id = 0;  ///< As ASTRA-sim counts: its chunks are numbered from a million times this.
  std::string name;
  std::vector<std::uint32_t> members;
};

/// Groups of the comm-group file first, then those that the trace brings along.
class Groups {
 public:
  Groups(const GroupLists& lists, const workload::Groups& of_trace, std::uint32_t npus);
  [[nodiscard]] const std::vector<Group>& all() const { return groups_; }
  /// Index of the group, kAllRanks for "" and "0"; nullopt when there is none.
  [[nodiscard]] std::optional<std::uint32_t> find(const std::string& name) const;

 private:
  std::vector<Group> groups_;
  std::map<std::string, std::uint32_t> by_name_;
};

struct Traces {
  std::vector<std::shared_ptr<const Trace>> ranks;  ///< Ids count from the rank's first.
  std::vector<std::uint64_t> first_ids;
  bool are_equal = false;  ///< All ranks do the same.
};

/// Reads the first `npus` ranks. InputError for what ASTRA-sim cannot run, SimulationError for operations that wait
/// on each other.
[[nodiscard]] Traces read_traces(const workload::Workload& workload, std::uint32_t npus, const Groups& groups,
                                 bool replay_only, const std::function<bool()>& wants_stop,
                                 Warnings& warnings);

/// One trace, for custom collectives; `peers` is how many ranks its peers may name.
[[nodiscard]] std::shared_ptr<Trace> read_trace(workload::OpSource& source, const std::string& name,
                                                std::uint32_t peers, const Groups* groups, bool replay_only);

/// "node 7 (all-reduce of 1048576 bytes)".
[[nodiscard]] std::string describe(const Step& step);

}  // namespace orrery::astra
