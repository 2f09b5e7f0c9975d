// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Told of everything that decides when a rank does what: enough to write down its program as operations.
#include <cstdint>

#include "orrery/base/units.hpp"
#include "orrery/live/group.hpp"
#include "orrery/live/protocol.hpp"

namespace orrery::live {

/// Why a rank was blocked.
enum class Pause : std::uint8_t { kNone, kOperation, kPoll, kSleep, kStore };

/// How an operation ended.
struct CapturedEnd {
  std::uint64_t handle = 0;
  std::uint32_t source = 0;  ///< Receives: whose message it was, a rank of the world.
  std::int64_t bytes = 0;    ///< Receives: of the message.
  bool has_failed = false;
  bool is_late = false;  ///< The rank's program had ended before.
};

class CaptureListener {
 public:
  /// The rank posts `op`, now.
  virtual void on_post(std::uint32_t rank, const orrery_op& op, const Group& group, Time now) = 0;
  /// It has computed until now, and asks for something.
  virtual void on_request(std::uint32_t rank, Time now) = 0;
  /// It goes on; `handle` is the operation whose end it was told, 0 = none.
  virtual void on_answer(std::uint32_t rank, Pause pause, std::uint64_t handle, Time now) = 0;
  /// It builds on the end of an operation of which it had been told already.
  virtual void on_awaited(std::uint32_t rank, std::uint64_t handle) = 0;
  virtual void on_ended(std::uint32_t rank, const CapturedEnd& end) = 0;

 protected:
  ~CaptureListener() = default;
};

}  // namespace orrery::live
