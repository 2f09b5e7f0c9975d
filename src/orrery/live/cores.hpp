// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which cores of this machine ranks run on.
#include <sched.h>

#include <cstdint>
#include <vector>

#include "orrery/base/pinned.hpp"

namespace orrery::live {

/// At most `jobs` of those we may use: the last ones, as the first often serves interrupts.
[[nodiscard]] std::vector<int> choose_cores(std::int64_t jobs);

/// While one lives, we run on the core of the one rank that runs: handing over costs a fifth of what it costs between
/// cores (docs/live.md). Nothing happens when there are several.
class SameCore : Pinned {
 public:
  explicit SameCore(const std::vector<int>& cores);
  ~SameCore();

 private:
  cpu_set_t before_{};
  bool is_pinned_ = false;
  int policy_ = -1;
};

/// While one lives, no core sleeps, where we may ask for that: one that does wakes up late and with cold caches. As in
/// real runs, so for raw times that are compared with theirs. The kernel takes the wish back with the file, after any
/// ending.
class AwakeCores : Pinned {
 public:
  explicit AwakeCores(bool is_wanted);
  ~AwakeCores();

 private:
  int file_ = -1;
};

}  // namespace orrery::live
