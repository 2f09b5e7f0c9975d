// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/interpose.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "orrery/live/rank/interpose_agenda.hpp"
#include "orrery/live/rank/interpose_alarm.hpp"
#include "orrery/live/rank/interpose_state.hpp"
#include "orrery/live/rank/interpose_threads.hpp"

namespace orrery::live {

constinit InterposeState interpose_state;
thread_local constinit InterposeThread interpose_thread [[gnu::tls_model("initial-exec")]];

namespace {

constinit Next<int(clockid_t, timespec*)> next_clock_gettime{"clock_gettime"};

void disarm_child() {
  interpose_disarm();
  interpose_thread = {};
  interpose_state.attending = 0;
  interpose_state.yielding = nullptr;
  agenda_clear();
}

/// Runs before the constructors of the program, and most others: our handler is then the first of a forked child.
[[gnu::constructor(101)]] void watch_forks() {
  next_clock_gettime.get();
  ::pthread_atfork(nullptr, nullptr, disarm_child);
}

}  // namespace

std::int64_t epoch_from_environment() {
  constexpr std::int64_t kLeast = 1'000'000'000'000'000'000;
  const char* text = std::getenv("ORRERY_EPOCH");
  if (text == nullptr || *text == '\0') return kDefaultEpochNs;
  std::int64_t value = 0;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9' || value > 800'000'000'000'000'000) return kDefaultEpochNs;
    value = value * 10 + (*text - '0');
  }
  return value < kLeast ? kDefaultEpochNs : value;
}

void interpose_arm(const Interposition& interposition) {
  interpose_state.rank = interposition;
  interpose_thread.is_home = true;
  interpose_claim();
  interpose_state.is_armed.store(true, std::memory_order_release);
  alarm_adopt();
}

void interpose_disarm() {
  interpose_state.is_armed.store(false, std::memory_order_release);
  interpose_state.rank_thread.store(nullptr, std::memory_order_relaxed);
  alarm_clear();
}

bool interpose_is_armed() { return is_armed(); }

void interpose_publish(std::int64_t clock_ps) {
  interpose_state.published_ps.store(clock_ps, std::memory_order_release);
  agenda_wake();
}

void interpose_claim() {
  interpose_thread.has_claimed = true;
  interpose_state.is_borrowed.store(false, std::memory_order_relaxed);
  interpose_state.is_at_real_pace.store(false, std::memory_order_relaxed);
  if (interpose_state.rank_thread.load(std::memory_order_relaxed) != &interpose_thread) interpose_take();
}

bool interpose_is_rank_thread() {
  return interpose_state.rank_thread.load(std::memory_order_relaxed) == &interpose_thread;
}

bool interpose_is_inside() { return interpose_thread.depth > 0; }

void interpose_take() {
  interpose_state.rank_tid.store(static_cast<pid_t>(::syscall(SYS_gettid)), std::memory_order_relaxed);
  interpose_state.rank_thread.store(&interpose_thread, std::memory_order_relaxed);
}

InsideLibrary::InsideLibrary() {
  ++interpose_thread.depth;
  interpose_state.attending.fetch_add(1, std::memory_order_relaxed);
}
InsideLibrary::~InsideLibrary() {
  interpose_state.attending.fetch_sub(1, std::memory_order_relaxed);
  --interpose_thread.depth;
}

bool keeps_time() {
  if (is_rank_thread()) return true;
  const bool may_be = is_armed() && interpose_thread.is_home && interpose_thread.depth == 0 &&
                      interpose_state.attending.load(std::memory_order_relaxed) == 0;
  if (!may_be || (!is_rank_yielding() && cpu_of(interpose_state.rank_tid.load()) != -1)) return false;
  interpose_claim();
  return true;
}

std::int64_t virtual_now_ps() {
  if (is_rank_thread() || take_over_if_stuck()) return interpose_state.rank.now();
  return interpose_state.published_ps.load(std::memory_order_relaxed);
}

Moved virtual_sleep(std::int64_t duration_ps) {
  const int result = interpose_state.rank.sleep(duration_ps);
  return result == 0 ? Moved::kThere : result == kNotYours ? Moved::kNotOurs : Moved::kRunIsOver;
}

int real_clock_gettime(clockid_t clock, timespec* time) {
  if (auto* function = next_clock_gettime.get(); function != nullptr) return function(clock, time);
  return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
}

std::int64_t real_clock_ns(clockid_t clock) {
  timespec time{};
  real_clock_gettime(clock, &time);
  return to_ns(time);
}

std::int64_t real_now() { return real_clock_ns(CLOCK_MONOTONIC); }
std::int64_t real_thread_cpu() { return real_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

std::int64_t until_ps(clockid_t clock, const timespec& deadline) {
  const std::int64_t at = ns_to_ps(to_ns(deadline) - clock_base_ns(clock));
  const std::int64_t now = virtual_now_ps();
  return at > now ? at - now : 0;
}

timespec real_deadline(clockid_t clock, const timespec& deadline) {
  // Without side effects, as the waits that ask for it happen where the program does not look at the clock itself.
  const std::int64_t now = interpose_state.published_ps.load(std::memory_order_relaxed) / kPsPerNs;
  const std::int64_t left = to_ns(deadline) - clock_base_ns(clock) - now;
  return to_timespec(real_clock_ns(clock) + (left > 0 ? left : 0));
}

clockid_t clock_of(const timespec& deadline) {
  const std::int64_t between =
      interpose_state.rank.monotonic_base_ns / 2 + interpose_state.rank.realtime_base_ns / 2;
  return to_ns(deadline) > between ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

}  // namespace orrery::live
