// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The operations of one rank while they are run: read by window, released by their dependencies, and handed out in
/// ascending id per resource. No time here.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orrery/base/pinned.hpp"
#include "orrery/base/units.hpp"
#include "orrery/workload/id_set.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::workload {

/// What an operation holds while it runs.
enum class Resource : std::uint8_t {
  kNothing,  ///< Runs as soon as it may: kNone, and receives, which only wait.
  kCpu,
  kCompute,
  kCommunication,
  kMemory,  ///< Remote memory.
};
inline constexpr std::size_t kResourceCount = 5;

using Slot = std::uint32_t;
inline constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

/// What is kept of an operation between reading it and its end.
struct LoadedOp {
  std::uint64_t id = 0;
  Duration duration{};                 ///< Of those that take a known time.
  std::uint32_t detail = kNoSlot;      ///< Given by the binder; of communication.
  std::uint32_t name = 0;              ///< Given by the binder, likewise.
  std::uint32_t missing = 0;           ///< Dependencies that are not done.
  std::uint32_t dependents = kNoSlot;  ///< First of the edges to those that wait for it.
  Time begin{};
  OpKind kind = OpKind::kNone;
  Resource resource = Resource::kNothing;
  bool is_running = false;
  bool is_moving = false;    ///< Communication: everyone is there.
  bool is_detached = false;  ///< The rank's end does not wait for it.
};

/// Turns what was read into what is kept.
class OpBinder {
 public:
  virtual void bind(Rank rank, const Op& op, LoadedOp& loaded) = 0;

 protected:
  ~OpBinder() = default;
};

class RankProgram : Pinned {
 public:
  /// `window`: operations held that are not done, at least 1.
  RankProgram(Rank rank, std::unique_ptr<OpSource> source, std::size_t window, OpBinder& binder);

  /// Reads on until the window is full or the source ends.
  void refill();
  /// Doubles the window and refills; false when there is nothing left to read.
  bool grow();
  /// The ready operation of lowest id that needs `resource`; it runs from now on.
  [[nodiscard]] std::optional<Slot> take_ready(Resource resource);
  /// It is done: whoever waited for it may be ready now, and its slot is used again.
  void finish(Slot slot);

  [[nodiscard]] LoadedOp& op(Slot slot) { return slots_[slot]; }
  [[nodiscard]] const LoadedOp& op(Slot slot) const { return slots_[slot]; }
  [[nodiscard]] bool is_exhausted() const { return source_ == nullptr; }
  [[nodiscard]] bool is_done() const { return is_exhausted() && unfinished_ == 0; }
  /// Nothing runs and nothing is ready.
  [[nodiscard]] bool is_stuck() const { return running_ == 0 && ready_ == 0; }
  [[nodiscard]] std::uint64_t finished() const { return finished_count_; }

  /// Slots of the operations that run, by id.
  [[nodiscard]] std::vector<Slot> running() const;
  /// Why nothing more can run, for reports.
  struct Obstacle {
    std::vector<std::uint64_t> cycle{};  ///< Ids, each waiting for the next and the last for the first.
    std::uint64_t waiting = 0;           ///< Without a cycle: an operation ...
    std::uint64_t missing = 0;           ///< ... that waits for one which the trace does not have.
  };
  /// Nothing when it is only others that are waited for. Call it when the source is exhausted.
  [[nodiscard]] std::optional<Obstacle> find_obstacle() const;

 private:
  struct Edge {
    Slot to = 0;
    std::uint32_t next = kNoSlot;
  };
  using Ready = std::pair<std::uint64_t, Slot>;

  bool load_next();
  void add_dependency(Slot slot, std::uint64_t on);
  void set_ready(Slot slot);
  [[nodiscard]] std::uint32_t take_edge(Slot to, std::uint32_t next);
  [[nodiscard]] Slot take_slot();
  [[nodiscard]] std::vector<std::vector<Slot>> waits_for() const;

  Rank rank_;
  std::unique_ptr<OpSource> source_;  // Null when it has ended.
  std::size_t window_;
  OpBinder& binder_;
  Op read_;  // Kept for its memory.
  std::vector<LoadedOp> slots_;
  std::vector<Slot> free_slots_;
  std::vector<Edge> edges_;
  std::uint32_t free_edge_ = kNoSlot;
  std::unordered_map<std::uint64_t, Slot> slot_of_;  // Loaded and not done.
  std::unordered_map<std::uint64_t, std::uint32_t>
      awaited_;  // Not read yet: edges to those that wait for it.
  IdSet finished_;
  std::array<std::vector<Ready>, kResourceCount> ready_by_;  // Heaps, lowest id first.
  std::size_t ready_ = 0;
  std::size_t running_ = 0;
  std::size_t unfinished_ = 0;
  std::uint64_t finished_count_ = 0;
};

}  // namespace orrery::workload
