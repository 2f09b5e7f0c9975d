// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Operations of one rank as they are made: ids, names, durations, and the dependencies that every rank keeps.
///   - computations of a rank follow one another, as on one stream of a device;
///   - a computation waits for the communication it needs, communication for the computation that made its data;
///   - collectives of one group follow one another.
/// Communication gets ids in the order in which it can become ready, the same on every member, so that ranks with
/// few communication streams cannot wait for each other in a circle.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/pinned.hpp"
#include "orrery/workload/generate/stage_plan.hpp"

namespace orrery::workload::generate {

using OpId = std::uint64_t;  ///< 0 = none.

/// Where in the program an operation stands, for its name.
struct Label {
  std::string_view phase{};  ///< "fwd", "bwd", ...
  std::int64_t layer = -1;
  std::int64_t micro_batch = -1;
  std::int64_t step = 0;
};

class Emitter : Pinned {
 public:
  Emitter(const Recipe& recipe, const Place& place);

  /// The oldest operation that nobody took yet; false when there is none.
  bool take(Op& op);
  [[nodiscard]] bool is_empty() const { return taken_ == made_; }

  Label label{};
  /// Computations of one pass, over which op_time is shared out; 0 = op_time is not used.
  std::int64_t shares = 0;
  Duration shared_time{};
  std::int64_t share = 0;  ///< Computations of the pass so far.

  void compute(std::string_view name, Work work);
  /// Ends an operation that is being merged.
  void flush();
  /// The next computation starts after `id`.
  void wait_for(OpId id) { waits_.push_back(id); }
  void forget_waits() { waits_.clear(); }
  /// What data made so far depends on: the communication that is waited for, else the last computation.
  [[nodiscard]] std::vector<OpId> producers();
  [[nodiscard]] OpId last_compute();

  /// `bytes` as Chakra counts them. A group of one does nothing and gives 0.
  OpId collective(collectives::Operation operation, GroupKind kind, std::int64_t bytes, std::string_view name,
                  std::span<const OpId> after);
  /// The same, between computations: after what is made so far, and the next one waits for it.
  void exchange(collectives::Operation operation, GroupKind kind, std::int64_t bytes, std::string_view name);
  [[nodiscard]] OpId last_of(GroupKind kind) const {
    return last_of_group_.at(static_cast<std::size_t>(kind));
  }
  OpId send(Rank peer, std::int64_t bytes, std::int64_t tag, std::string_view name,
            std::span<const OpId> after);
  OpId receive(Rank peer, std::int64_t bytes, std::int64_t tag, std::string_view name,
               std::span<const OpId> after);
  /// Updates weights: takes no time with op_time.
  OpId update(std::string_view name, Work work, std::span<const OpId> after);

 private:
  Op& add(OpKind kind, std::string_view name);
  void add_message(Op& op, Rank peer, std::int64_t bytes, std::int64_t tag, std::span<const OpId> after);
  [[nodiscard]] Duration duration_of(Work work) const;

  const Recipe& recipe_;
  const Place& place_;
  std::array<std::string, kGroupKinds> group_names_{};
  std::array<OpId, kGroupKinds> last_of_group_{};
  std::vector<Op> ops_{};  // Used again and again, for their memory.
  std::size_t made_ = 0;
  std::size_t taken_ = 0;
  OpId next_id_ = 1;  // 0 is left to the head of a file.
  OpId last_compute_ = 0;
  std::vector<OpId> waits_{};
  // The operation that is being merged.
  std::string merged_name_{};
  Work merged_{};
  Duration merged_time_{};
};

}  // namespace orrery::workload::generate
