// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the coordinator and the ranks share beside the slots of the process contract: one arena of memory, and what
/// stands in it. Standard library only: it is compiled into the processes that run users' programs.
///
/// The arena is one sparse anonymous file, cut into equal parts: part r belongs to the process in slot r, the last
/// part to the coordinator. Only its owner allocates in a part; everybody reads everywhere. An offset is counted
/// from the start of the file, 0 is "none".
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "orrery/live/rank/orrery_rank.h"

namespace orrery::live {

inline constexpr std::uint64_t kArenaPart = std::uint64_t{1} << 36;  ///< Sparse: costs nothing until touched.

/// Requests of a rank that block it (engine::Call::operation). arguments[0] is always the oldest operation posted
/// since the last request (offset, 0 = none; the rest follow by orrery_op::next), arguments[1] how
/// many points it has passed, arguments[3] what first touches have cost it since the last request, in picoseconds.
enum class Request : std::uint32_t {
  kFlush = 1,  ///< Nothing but the posts.
  kWait,       ///< [2] offset of a WaitSet. Answer: index of the operation that ended, or a negative Answer.
  kTest,       ///< [2] handle. Answer: 1 when it has ended, else 0.
  kSleep,      ///< [2] picoseconds to sleep.
  kStore,      ///< [2] offset of a StoreRequest, which is filled in. Answer: 0 or a negative Answer.
  kExit,       ///< The program is through; [2] its exit status.
  kAbort,      ///< It cannot go on; [2] offset of the reason, text that ends with 0.
};

enum Answer : std::int64_t { kTimedOut = -1, kFailed = -2 };

struct WaitSet {
  std::int64_t timeout_ps = 0;  ///< From the clock of the request; 0 = for ever.
  std::uint32_t count = 0;
  std::uint32_t reserved = 0;
  std::uint64_t handles[1]{};  ///< `count` of them.
};

/// A blocking request to the key-value store of a rendezvous. Parts are counted byte strings, one after the other.
struct StoreRequest {
  std::uint32_t operation = 0;  ///< orrery_store_operation.
  std::uint32_t parts = 0;      ///< The store's name, then the arguments.
  std::int64_t timeout_ps = 0;  ///< 0 = for ever.
  std::uint64_t bytes = 0;      ///< Of all parts, which follow: uint64 size, bytes, padded to 8.
  std::int64_t reply =
      0;  ///< Offset of the reply in the coordinator's part (uint64 count, then the same form).
};

/// Of one collective that all members have posted; in the coordinator's part. Offsets of the members' operations
/// follow, in group order.
struct Table {
  std::atomic<std::uint32_t>
      state;  ///< 0: nobody has computed the result; 1: somebody does; 2: `result` stands.
  std::atomic<std::uint32_t>
      readers;  ///< Members that have not taken their result. The last one frees everything.
  std::uint32_t members;
  std::uint32_t reserved;
  std::atomic<std::int64_t> result;
  std::int64_t operations[1];
};

/// In front of everything allocated in the arena. The owner reuses a block once nobody uses it.
struct alignas(64) Block {
  std::uint64_t size = 0;               ///< With this header.
  std::atomic<std::uint32_t> users{0};  ///< 0 = free; anybody may lower it.
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Block) == 64);

/// How a rank's operators were costed, for the notes of the result.
struct OperatorCounts {
  std::atomic<std::uint64_t> all;
  std::atomic<std::uint64_t> extrapolated;  ///< Beyond what the device's table was profiled for.
  std::atomic<std::uint64_t> unknown;       ///< As bytes in and out, for want of a rule.
  char unknown_names[480];                  ///< Of those, with blanks between; ends with 0.
};

/// One page per process, at the start of its part: what the coordinator tells it beside answers.
struct RankPage {
  std::atomic<std::uint64_t> compute_scale_bits;  ///< Double: device time per host time; changes with faults.
  std::atomic<std::int64_t> clock_ps;             ///< Mirror of the process's clock, for progress lines.
  std::atomic<std::int64_t> compute_ps;           ///< Charged so far.
  std::atomic<std::uint32_t> threads_in_line;     ///< That want to wait for the network while another one does.
  OperatorCounts operators;
  orrery_memory memory;  ///< Of the device; the process writes it.
};

}  // namespace orrery::live
