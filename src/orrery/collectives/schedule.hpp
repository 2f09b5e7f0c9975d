// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collective schedules as values: what each rank sends and receives, in which order. No time, no bytes.
///
/// A rank runs one or more lanes; a lane is a list of actions done in order. kSend posts a message and goes
/// on at once; kReceive waits for the next message of that peer on the same lane (messages of one
/// sender-receiver-lane triple arrive in order). So a send that must wait for data stands after the receive
/// that brings it, and independent work stands in another lane.
///
/// What is sent is named by chunk ids; a Layout says how many bytes each chunk has. The meaning of chunk ids
/// depends on the operation (n ranks, root r):
///   all_reduce, broadcast, reduce      0..C-1: parts of the one buffer (C is the schedule's chunk count)
///   all_gather, gather                 0..n*K-1: chunk i*K+k is part k of rank i's contribution
///   reduce_scatter, scatter            0..n*K-1: chunk i*K+k is part k of what rank i ends up with
///   all_to_all                         0..n*n*K-1: chunk (i*n+j)*K+k is part k of what rank i sends to rank j
///   barrier                            0: an empty token; receiving it adds to what the rank has heard of
///   send_recv                          0..C-1: parts of the one message
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/base/units.hpp"

namespace orrery::collectives {

using Rank = std::uint32_t;

enum class Operation : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kBarrier,
  kSendReceive,
};
inline constexpr std::size_t kOperationCount = 10;
/// "all_reduce", "send_recv", ...
[[nodiscard]] std::string_view to_text(Operation operation);
/// The names of to_text() and the usual other spellings: case, "_", "-" and a final "v" do not matter.
[[nodiscard]] std::optional<Operation> parse_operation(std::string_view text);

/// Which chunks a message carries: `count` ids from `first`, or that many entries of the schedule's
/// chunk_list() from index `first`.
struct ChunkRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  bool listed = false;
};

enum class ActionKind : std::uint8_t {
  kSend,
  kReceive,        ///< Overwrites the chunks.
  kReceiveReduce,  ///< Adds to the chunks (costs reduction time where the device has any).
};

struct Action {
  ActionKind kind = ActionKind::kSend;
  std::uint32_t peer = 0;  ///< Index into the lane's peers(), not a rank.
  ChunkRange chunks;
};

/// Pure: the same arguments always give the same answer, so large regular schedules need not be stored.
class Schedule {
 public:
  virtual ~Schedule() = default;
  /// Participants; ids 0..participants()-1. The first ranks() of them are ranks, any others are switches
  /// that compute (in-network reduction) and start with no data.
  [[nodiscard]] virtual std::uint32_t ranks() const = 0;
  [[nodiscard]] virtual std::uint32_t participants() const { return ranks(); }
  [[nodiscard]] virtual std::uint32_t chunk_count() const = 0;
  [[nodiscard]] virtual std::uint32_t lanes(Rank rank) const = 0;
  /// Everyone this lane talks to, each once.
  [[nodiscard]] virtual std::vector<Rank> peers(Rank rank, std::uint32_t lane) const = 0;
  [[nodiscard]] virtual std::uint64_t length(Rank rank, std::uint32_t lane) const = 0;
  [[nodiscard]] virtual Action action(Rank rank, std::uint32_t lane, std::uint64_t index) const = 0;
  [[nodiscard]] virtual std::span<const std::uint32_t> chunk_list() const { return {}; }
};

/// Bytes of each chunk of a schedule, with prefix sums so that a range costs O(1).
class Layout {
 public:
  /// `sizes` has one entry per chunk.
  explicit Layout(const std::vector<Bytes>& sizes);
  /// `total` cut into `chunks` parts that differ by at most one `element`; earlier parts are larger.
  [[nodiscard]] static Layout even(Bytes total, std::uint32_t chunks, Bytes element = Bytes{1});
  [[nodiscard]] Bytes bytes(const ChunkRange& range, std::span<const std::uint32_t> list) const;
  [[nodiscard]] std::uint32_t chunk_count() const { return static_cast<std::uint32_t>(first_.size() - 1); }

 private:
  std::vector<std::int64_t> first_;  // Bytes before each chunk; one more entry than chunks.
};

}  // namespace orrery::collectives
