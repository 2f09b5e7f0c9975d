// SPDX-License-Identifier: Apache-2.0
// Ends that run no handlers. With status 0 they are as good as any, so the rank leaves in order, as exit() would make
// it. Any other status is a failure; the coordinator sees it, and says so.
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "orrery/live/rank/interpose_state.hpp"
#include "orrery/live/rank/session.hpp"

namespace {

using namespace orrery::live;

constinit Next<void(int)> next_exit{"_exit"};

[[gnu::constructor(101)]] void resolve() { next_exit.get(); }

[[noreturn]] void end_process(int status) {
  constexpr int kSeenByParents = 0xFF;
  if ((status & kSeenByParents) == 0) leave_without_a_word();
  if (auto* const next = next_exit.get(); next != nullptr) next(status);
  for (;;) ::syscall(SYS_exit_group, status);
}

}  // namespace

ORRERY_INTERPOSED void _exit(int status) { end_process(status); }

ORRERY_INTERPOSED void _Exit(int status) noexcept { end_process(status); }
