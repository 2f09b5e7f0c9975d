// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the interposed functions share. Everything here works before constructors have run: it is initialised by
/// the compiler, and thread-local memory is of the kind that needs no allocation.
#include <dlfcn.h>
#include <semaphore.h>
#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "orrery/live/rank/interpose.hpp"

#define ORRERY_INTERPOSED extern "C" [[gnu::visibility("default")]]

namespace orrery::live {

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;
inline constexpr std::int64_t kPsPerNs = 1'000;

struct InterposeState {
  std::atomic<bool> is_armed = false;
  std::atomic<std::int64_t> published_ps = 0;
  std::atomic<const void*> rank_thread = nullptr;
  std::atomic<pid_t> rank_tid = 0;
  std::atomic<bool> is_borrowed = false;  ///< The rank's thread took over: the program's first may have it back.
  std::atomic<bool> is_at_real_pace = false;  ///< And what the other waits for may come from outside this process.
  std::atomic<const void*> yielding = nullptr;  ///< The thread that waits however long, and for no operation.
  std::atomic<sem_t*> awaited = nullptr;        ///< What it waits for; null: a signal.
  std::atomic<int> attending = 0;               ///< Threads that are about to move the clock, or wait to.
  Interposition rank;
};
extern InterposeState interpose_state;

struct InterposeThread {
  int depth = 0;                         ///< InsideLibrary.
  bool is_home = false;                  ///< It armed the process.
  bool has_claimed = false;              ///< It has used the library.
  bool is_resolving = false;             ///< In dlsym().
  const void* idle_condition = nullptr;  ///< See interpose_progress.cpp.
  std::int64_t looked_at = 0;            ///< See take_over_if_stuck().
  std::int64_t seen_cpu = -2;
};
extern thread_local constinit InterposeThread interpose_thread [[gnu::tls_model("initial-exec")]];

[[nodiscard]] inline bool is_armed() { return interpose_state.is_armed.load(std::memory_order_acquire); }

/// This thread is the rank's from now on, whyever.
void interpose_take();

/// Whether this is the rank's thread, outside of our own library: its waits are virtual.
[[nodiscard]] inline bool is_rank_thread() {
  if (!is_armed() || interpose_thread.depth > 0) return false;
  if (interpose_state.rank_thread.load(std::memory_order_relaxed) == &interpose_thread) return true;
  if (!interpose_thread.is_home || !interpose_state.is_borrowed.load(std::memory_order_relaxed) ||
      interpose_state.attending.load(std::memory_order_relaxed) > 0) {
    return false;
  }
  interpose_claim();  // It is not stuck any more.
  return true;
}

/// Whether the rank's thread does nothing but wait for a lock that nobody has given it yet: whoever wants the clock
/// meanwhile may have it.
[[nodiscard]] inline bool is_rank_yielding() {
  const void* yielding = interpose_state.yielding.load();
  sem_t* const awaited = interpose_state.awaited.load();
  if (yielding == nullptr || yielding != interpose_state.rank_thread.load()) return false;
  int value = 0;
  return awaited == nullptr || ::sem_getvalue(awaited, &value) != 0 || value == 0;
}

/// Before a wait: whether it is virtual. The program's first thread becomes the rank's for it when that one yields, or
/// is gone.
[[nodiscard]] bool keeps_time();

/// Whether this thread may complete pending operations: only threads that use the library, not an idle worker of
/// some pool, which would complete what the rank has not come to wait for.
[[nodiscard]] inline bool may_progress() {
  return is_armed() && interpose_state.rank.progress != nullptr && interpose_thread.has_claimed &&
         interpose_thread.depth == 0;
}

/// The virtual clock for this thread: an event of the program on the rank's thread, else the last published.
[[nodiscard]] std::int64_t virtual_now_ps();

/// Sleeps in virtual time; not when the run is over, or this thread is not the rank's any more.
enum class Moved { kThere, kRunIsOver, kNotOurs };
Moved virtual_sleep(std::int64_t duration_ps);

/// A function of the library behind ours. Resolved when the library is loaded, or at the first call before that.
/// The type is spelt out: libc's own declaration carries attributes that a template argument cannot have.
template <class Function>
class Next {
 public:
  /// `version`: where the plain name would find an old, incompatible one.
  explicit constexpr Next(const char* name, const char* version = nullptr) : name_{name}, version_{version} {}

  /// Null inside dlsym() itself, which may allocate, and an allocator may read the clock.
  Function* get() {
    Function* function = function_.load(std::memory_order_relaxed);
    return function != nullptr ? function : resolve();
  }

 private:
  Function* resolve() {
    if (interpose_thread.is_resolving) return nullptr;
    interpose_thread.is_resolving = true;
    void* found = version_ != nullptr ? ::dlvsym(RTLD_NEXT, name_, version_) : nullptr;
    if (found == nullptr) found = ::dlsym(RTLD_NEXT, name_);
    interpose_thread.is_resolving = false;
    auto* function = reinterpret_cast<Function*>(found);
    function_.store(function, std::memory_order_relaxed);
    return function;
  }

  const char* name_;
  const char* version_;
  std::atomic<Function*> function_ = nullptr;
};

/// On x86-64 the plain name may find the condition variables of 1998, which have another layout.
inline constexpr const char* kConditionVersion = "GLIBC_2.3.2";

/// The host's clock: libc's, or the system call while libc's cannot be had.
int real_clock_gettime(clockid_t clock, timespec* time);
[[nodiscard]] std::int64_t real_clock_ns(clockid_t clock);

/// Whether we give this clock virtual time (CPU-time clocks stay real), and what it shows at virtual time 0.
[[nodiscard]] inline bool is_virtual_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
         clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME ||
         clock == CLOCK_TAI;
}
[[nodiscard]] inline std::int64_t clock_base_ns(clockid_t clock) {
  const bool is_epoch = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  return is_epoch ? interpose_state.rank.realtime_base_ns : interpose_state.rank.monotonic_base_ns;
}

[[nodiscard]] inline bool is_valid(const timespec* time) {
  return time != nullptr && time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < kNsPerSecond;
}
/// Saturates: a program may say "for ever" with the largest number it knows.
[[nodiscard]] inline std::int64_t to_ns(const timespec& time) {
  constexpr std::int64_t kMaxSeconds = 9'000'000'000;
  return (time.tv_sec > kMaxSeconds ? kMaxSeconds : time.tv_sec) * kNsPerSecond + time.tv_nsec;
}
[[nodiscard]] inline timespec to_timespec(std::int64_t ns) {
  return {.tv_sec = ns / kNsPerSecond, .tv_nsec = ns % kNsPerSecond};
}
/// Virtual durations are at most 106 days.
[[nodiscard]] inline std::int64_t ns_to_ps(std::int64_t ns) {
  constexpr std::int64_t kMax = 9'000'000'000'000'000;
  return (ns < 0 ? 0 : ns > kMax ? kMax : ns) * kPsPerNs;
}

/// How long it is, from what this thread's virtual clock shows, to an absolute time of that clock; 0 when past.
[[nodiscard]] std::int64_t until_ps(clockid_t clock, const timespec& deadline);
/// The same distance from now on the host's clock of that name.
[[nodiscard]] timespec real_deadline(clockid_t clock, const timespec& deadline);
/// The clock that a deadline without a name belongs to: they are decades apart.
[[nodiscard]] clockid_t clock_of(const timespec& deadline);

}  // namespace orrery::live
