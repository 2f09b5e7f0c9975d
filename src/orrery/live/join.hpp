// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a process becomes a rank: it connects to the coordinator's socket (an abstract one, which leaves no file),
/// says who it is, and is told where the shared memory is. Standard library only.
#include <sys/types.h>

#include <cstdint>

namespace orrery::live {

inline constexpr std::uint32_t kJoinMagic = 0x6F723031;
/// "PID:SOCKET_NAME" of the coordinator; in the environment of every process of a run.
inline constexpr const char* kLiveVariable = "ORRERY_LIVE";

struct JoinRequest {
  std::uint32_t magic = kJoinMagic;
  std::int32_t rank = 0;
  std::int32_t world = 0;
  pid_t process = 0;
};

/// Descriptors are the coordinator's own: the rank opens /proc/PID/fd/N.
struct JoinReply {
  std::uint32_t magic = kJoinMagic;
  std::uint32_t is_accepted = 0;
  std::uint32_t slot = 0;
  std::int32_t region = -1;
  std::int32_t arena = -1;
  std::int32_t core = -1;            ///< To run on; -1 = any.
  std::int32_t ledger_in = -1;       ///< Recorded compute times to charge, or -1.
  std::int32_t ledger_out = -1;      ///< Where to write those of this run, or -1.
  std::int32_t table = -1;           ///< Durations known of operators (KeyTable), or -1.
  std::int32_t device = -1;          ///< The device's cost model (CostModel::to_image()), or -1.
  std::uint32_t compute = 0;         ///< MeterMode.
  std::uint32_t is_raw = 0;          ///< Of the measured mode: with the host's noise.
  std::uint64_t program = 0;         ///< Tells programs apart, for what is known of them.
  std::int64_t fixed_ps = 0;         ///< For the fixed modes.
  std::uint32_t is_captured = 0;     ///< orrery_awaited() is wanted.
  std::uint32_t is_gloo = 0;         ///< Collectives are gloo's, with its memory.
  std::int64_t epoch_ns = 0;         ///< What CLOCK_REALTIME shows at the beginning.
  std::uint32_t is_core_shared = 0;  ///< With the coordinator and all other ranks.
  std::uint32_t reserved = 0;
  char reason[256]{};  ///< Why not, when not accepted.
};

}  // namespace orrery::live
