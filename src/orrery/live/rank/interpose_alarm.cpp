// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/interpose_alarm.hpp"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "orrery/live/rank/interpose_patience.hpp"

namespace orrery::live {
namespace {

constinit Next<int(int, const itimerval*, itimerval*)> next_setitimer{"setitimer"};
constinit Next<int(int, itimerval*)> next_getitimer{"getitimer"};
constinit Next<unsigned(unsigned)> next_alarm{"alarm"};
constinit Next<int()> next_pause{"pause"};

[[gnu::constructor(101)]] void resolve() {
  next_setitimer.get();
  next_getitimer.get();
  next_alarm.get();
  next_pause.get();
}

constinit std::atomic<std::int64_t> due_ps = kForever;
constinit std::atomic<std::int64_t> interval_ps = 0;
constinit std::atomic<std::uint32_t> come = 0;

bool is_ignored() {
  struct sigaction action{};
  return ::sigaction(SIGALRM, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

constexpr std::int64_t kNsPerUs = 1000;
constexpr std::int64_t kUsPerSecond = 1'000'000;

bool is_time(const timeval& time) {
  return time.tv_sec >= 0 && time.tv_usec >= 0 && time.tv_usec < kUsPerSecond;
}
std::int64_t to_ps(const timeval& time) {
  return ns_to_ps(to_ns({.tv_sec = time.tv_sec, .tv_nsec = time.tv_usec * kNsPerUs}));
}
timeval to_timeval(std::int64_t ps) {
  const std::int64_t us = (ps + kNsPerUs * kPsPerNs - 1) / (kNsPerUs * kPsPerNs);
  return {.tv_sec = us / kUsPerSecond, .tv_usec = us % kUsPerSecond};
}

itimerval what_is_left() {
  if (!is_alarm_set()) return {};
  // Not zero, which would say that there is none.
  return {.it_interval = to_timeval(interval_ps.load()), .it_value = to_timeval(std::max<std::int64_t>(1, until_alarm_ps()))};
}

/// In a rank, outside of our own library.
bool is_ours() { return is_armed() && interpose_thread.depth == 0; }

}  // namespace

std::int64_t alarm_due_ps() { return due_ps.load(std::memory_order_relaxed); }
bool is_alarm_set() { return alarm_due_ps() != kForever; }
std::uint32_t alarms_come() { return come.load(std::memory_order_relaxed); }

std::int64_t until_alarm_ps() {
  const std::int64_t due = alarm_due_ps();
  return due == kForever ? kForever : std::max<std::int64_t>(0, due - virtual_now_ps());
}

void alarm_look() {
  std::int64_t due = alarm_due_ps();
  const std::int64_t now = interpose_state.published_ps.load(std::memory_order_relaxed);
  if (due > now) return;
  const std::int64_t interval = interval_ps.load();
  const std::int64_t next = interval > 0 ? due + ((now - due) / interval + 1) * interval : kForever;
  if (!due_ps.compare_exchange_strong(due, next)) return;
  const int saved = errno;
  if (!is_ignored()) {
    ++come;
    ::kill(::getpid(), SIGALRM);
  }
  errno = saved;
}

void alarm_clear() {
  due_ps = kForever;
  interval_ps = 0;
}

}  // namespace orrery::live

using namespace orrery::live;

ORRERY_INTERPOSED int getitimer(int which, itimerval* value) {
  if (which != ITIMER_REAL || !is_ours()) return next_getitimer.get()(which, value);
  *value = what_is_left();
  return 0;
}

ORRERY_INTERPOSED int setitimer(int which, const itimerval* value, itimerval* old) {
  if (which != ITIMER_REAL || !is_ours()) return next_setitimer.get()(which, value, old);
  if (value == nullptr || !is_time(value->it_value) || !is_time(value->it_interval)) {
    errno = EINVAL;
    return -1;
  }
  const itimerval left = what_is_left();
  const std::int64_t duration = to_ps(value->it_value);
  alarm_clear();
  interval_ps = to_ps(value->it_interval);
  if (duration > 0) due_ps = virtual_now_ps() + duration;
  if (old != nullptr) *old = left;
  return 0;
}

ORRERY_INTERPOSED unsigned alarm(unsigned seconds) {
  if (!is_ours()) return next_alarm.get()(seconds);
  const itimerval value{.it_interval = {}, .it_value = {.tv_sec = static_cast<time_t>(seconds), .tv_usec = 0}};
  itimerval old{};
  setitimer(ITIMER_REAL, &value, &old);
  const bool rounds_up = old.it_value.tv_usec >= kUsPerSecond / 2 || (old.it_value.tv_sec == 0 && old.it_value.tv_usec > 0);
  return static_cast<unsigned>(old.it_value.tv_sec) + (rounds_up ? 1 : 0);
}

ORRERY_INTERPOSED int pause() {
  const std::uint32_t before = alarms_come();
  while (is_alarm_set() && keeps_time()) {
    if (sleep_virtually(until_alarm_ps()) == Slept::kNotHere) break;
    if (alarms_come() == before) continue;
    errno = EINTR;
    return -1;
  }
  return next_pause.get()();
}
