// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the system layer keeps: chunks on their way through phases and queues, and each rank's plans for later.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "orrery/astra/channels.hpp"
#include "orrery/astra/settings.hpp"
#include "orrery/astra/trace.hpp"

namespace orrery::astra {

class CustomRun;
class EndpointBus;

/// Ranks in a circle: those of a dimension (`stride` apart), or the members of a group.
struct Circle {
  std::uint32_t size = 0;
  std::uint32_t stride = 1;
  std::vector<std::uint32_t> members{};  ///< Of a group smaller than the cluster; empty = a dimension.
  bool is_last = false;                  ///< The outermost dimension that has an algorithm.
  [[nodiscard]] bool is_group() const { return !members.empty(); }
};

/// One dimension of a collective as it is configured.
struct PlanDimension {
  std::uint32_t circle = 0;
  Choice choice{};
};

/// How a collective runs.
struct Plan {
  std::vector<PlanDimension> dims{};
  std::string custom{};       ///< Prefix of ET files; then `dims` does not count.
  bool ignores_dims = false;  ///< Of a group: the node's involved_dim does not count.
};

/// One chunk's way through one dimension.
struct Phase {
  std::uint64_t size = 0;  ///< Bytes it starts with.
  std::uint32_t circle = 0;
  std::uint32_t queue = 0;
  std::int32_t window = -1;
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  bool is_anticlockwise = false;
  bool is_second_tree = false;
  bool is_custom = false;
};

enum class TreeState : std::uint8_t {
  kBegin,
  kWaitsForTwo,
  kWaitsForOne,
  kSendsUp,
  kWaitsForParent,
  kSendsDown,
  kEnd
};

/// A part of a collective, on one rank. What the fields of a phase mean depends on its algorithm. What every message
/// touches comes first.
struct Chunk {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;  ///< Of its circle.
  Phase phase{};
  std::uint32_t sends_left = 0;
  std::uint32_t tokens = 0;  ///< Packets that may be sent.
  std::uint32_t window = 0;
  std::uint32_t received = 0;
  std::uint32_t inserted = 0;
  std::uint32_t sent = 0;
  std::uint32_t unreduced_left = 0;  ///< Of the present run.
  std::uint32_t reduced_left = 0;
  std::uint64_t message = 0;    ///< Bytes of the next message.
  std::uint64_t reduction = 0;  ///< ns of its reduction.
  std::uint32_t send_channel = kNone;
  std::uint32_t receive_channel = kNone;
  bool reduces_now = false;  ///< Ring forms: whether this run of receives is reduced.
  bool is_started = false;
  TreeState tree = TreeState::kBegin;
  bool has_reduced = false;
  bool is_shrinking = false;  ///< Halving-doubling.

  std::uint32_t dataset = 0;
  std::uint32_t tag = 0;
  std::int32_t priority = 0;
  std::uint32_t next = kNone;  ///< In its queue.
  std::uint32_t previous = kNone;
  std::uint32_t index = 0;  ///< In its circle.

  std::uint32_t distance = 0;  ///< Halving-doubling: to the partner of the next message.
  std::uint64_t packet = 0;    ///< Bytes of the message that waits to be sent.
  std::uint32_t packet_distance = 0;

  std::uint32_t parent = kNone;  ///< Double binary tree: ranks.
  std::array<std::uint32_t, 2> children{kNone, kNone};

  std::uint32_t next_phase = 0;
  std::vector<Phase> phases{};
  std::unique_ptr<CustomRun> custom{};
};

struct Dataset {
  std::uint32_t rank = 0;
  std::uint32_t step = 0;
  std::uint32_t total = 0;
  std::uint32_t finished = 0;
};

/// Chunks of one dimension that wait for their turn or have it, those that have it first.
struct Queue {
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;
  std::uint32_t first_waiting = kNone;
  std::uint64_t running = 0;
};

/// Which queue of a dimension comes next, for each of the three ways of asking.
struct QueueTurn {
  std::uint32_t any = 0;
  std::uint32_t lower = 0;
  std::uint32_t upper = 0;
};

/// What a rank does later. All it plans for one instant runs together, where the first was planned.
struct Callback {
  enum class Kind : std::uint8_t {
    kEndpoint,        ///< `subject`: chunk whose packet has crossed the endpoint.
    kEndpointReduce,  ///< The same, to be reduced next.
    kReduced,         ///< `subject`: chunk.
    kStep,            ///< `subject`: step that is done.
    kDataset,         ///< `subject`: dataset, a broadcast, that is done.
    kMemory,          ///< `subject`: memory that is free.
    kCustom,          ///< `subject`: chunk, `detail`: step of its custom collective that is done.
    kBus,             ///< `subject`: side of the bus, `detail`: what happened.
  };
  Kind kind = Kind::kEndpoint;
  std::uint32_t subject = 0;
  std::uint32_t detail = 0;
  std::uint32_t next = kNone;
};

/// Callbacks of one instant. Mostly there is one; others follow it in a list.
struct Batch {
  std::uint64_t time = 0;
  Callback first{};
  std::uint32_t last = kNone;  ///< Of those behind `first`.
};

/// A rank's batches by time. The earliest stands by itself: mostly there is no other.
class Agenda {
 public:
  [[nodiscard]] bool is_empty() const { return !has_first_; }
  [[nodiscard]] Batch& front() { return first_; }
  /// The batch of `time`; nullptr when there is none.
  [[nodiscard]] Batch* find(std::uint64_t time) {
    if (has_first_ && first_.time == time) return &first_;
    return later_.empty() ? nullptr : find_later(time);
  }
  /// Adds a batch of a time that has none.
  void add(const Batch& batch) {
    if (!has_first_) {
      has_first_ = true;
      first_ = batch;
    } else {
      add_later(batch);
    }
  }
  void pop_front() {
    has_first_ = !later_.empty();
    if (has_first_) take_later();
  }

 private:
  [[nodiscard]] Batch* find_later(std::uint64_t time);
  void add_later(const Batch& batch);
  void take_later() {
    first_ = later_.back();
    later_.pop_back();
  }
  Batch first_{};
  bool has_first_ = false;
  std::vector<Batch> later_{};  // The latest first.
};

enum class Resource : std::uint8_t { kCpu, kCompute, kCommunication, kUnlimited };
enum class Activity : std::uint8_t { kCpu, kGpu, kCommunication, kMemory };
inline constexpr std::size_t kResources = 4;
inline constexpr std::size_t kActivities = 4;

/// Length of the union of intervals, counted as they open and close.
struct BusyTime {
  std::uint64_t total = 0;
  std::uint64_t since = 0;
  std::uint32_t open = 0;
};

struct GroupState {
  std::uint32_t chunks = 0;  ///< Numbered so far, beyond a million times the group's id.
  std::array<std::shared_ptr<const Plan>, kCollectives> plans{};
};

struct RankState {
  std::shared_ptr<const Trace> trace{};
  std::uint64_t first_id = 0;  ///< To which the ids of its steps are added.
  std::vector<std::uint32_t> waiting_for{};
  std::array<std::vector<std::uint32_t>, kResources> ready{};  ///< Heaps: the lowest id first.
  std::vector<std::uint32_t> freed{};                          ///< Ready, but not before the next pass.
  std::uint32_t ready_count = 0;
  std::uint32_t ongoing = 0;
  std::vector<std::uint32_t> open{};  ///< Communication under way, for reports.
  std::array<bool, kResources> taken{};
  bool is_finished = false;
  std::uint64_t cycles = 0;
  std::uint64_t gpu_ticks = 0;
  std::array<BusyTime, kActivities> busy{};
  BusyTime overlap{};

  std::uint32_t chunks = 0;
  std::int32_t priority = 0;
  std::vector<Queue> queues{};
  std::vector<QueueTurn> turns{};
  std::array<std::vector<std::uint32_t>, kCollectives> trees{};  ///< Trees handed out, per dimension.
  std::map<std::uint32_t, GroupState> groups{};
  std::unique_ptr<EndpointBus> bus{};
};

}  // namespace orrery::astra
