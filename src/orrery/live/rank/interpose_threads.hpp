// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the system knows of the threads and children of this process. All keep errno: the caller's program did not
/// ask for any of it.
#include <sys/types.h>

#include <cstdint>

namespace orrery::live {

/// Whether this process has child processes, dead ones included until somebody waits for them.
[[nodiscard]] bool has_children();
/// Whether this process has more threads than this one.
[[nodiscard]] bool has_other_threads();
/// Whether another thread of this process runs, wants to run, or waits for a disk.
[[nodiscard]] bool is_other_thread_runnable();
/// CPU time of all threads but this one, in nanoseconds.
[[nodiscard]] std::int64_t cpu_of_others();

/// CPU time of a thread of this process in nanoseconds, or -1 when it has ended.
[[nodiscard]] std::int64_t cpu_of(pid_t thread);
/// Whether it sleeps in the kernel.
[[nodiscard]] bool is_asleep(pid_t thread);

}  // namespace orrery::live
