// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/cores.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "orrery/live/take_turns.hpp"

namespace orrery::live {

std::vector<int> choose_cores(std::int64_t jobs) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::vector<int> cores;
  for (int core = CPU_SETSIZE - 1; core >= 0 && static_cast<std::int64_t>(cores.size()) < jobs; --core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

SameCore::SameCore(const std::vector<int>& cores) {
  if (cores.size() != 1 || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cores[0]), &set);
  is_pinned_ = ::sched_setaffinity(0, sizeof set, &set) == 0;
  policy_ = take_turns();
}

SameCore::~SameCore() {
  constexpr sched_param kNoPriority{};
  if (policy_ == SCHED_OTHER) ::sched_setscheduler(0, SCHED_OTHER, &kNoPriority);
  if (is_pinned_) ::sched_setaffinity(0, sizeof before_, &before_);
}

AwakeCores::AwakeCores(bool is_wanted) {
  if (!is_wanted) return;
  file_ = ::open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
  constexpr std::int32_t kNone = 0;
  if (file_ >= 0) static_cast<void>(::write(file_, &kNone, sizeof kNone) != 0);
}

AwakeCores::~AwakeCores() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace orrery::live
