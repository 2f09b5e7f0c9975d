// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/interpose_alarm.hpp"

#include <pthread.h>
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

/// What is set last. A thread that finds another number here is that of an alarm which was changed or taken back.
constinit std::atomic<std::uint32_t> current = 0;
constinit std::atomic<std::int64_t> due_ps = kForever;
constinit std::atomic<std::int64_t> interval_ps = 0;
constinit std::atomic<std::uint32_t> sent = 0;
constexpr std::int64_t kLongestInterval = 1'000'000'000'000'000'000;  // Eleven days: added up it does not overflow.

bool is_ignored() {
  struct sigaction action {};
  return ::sigaction(SIGALRM, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::int64_t published() { return interpose_state.published_ps.load(std::memory_order_acquire); }

/// Until the clock is there. False when the alarm is none any more.
bool wait_until(std::int64_t due, AgendaEntry& entry, std::uint32_t number) {
  const auto is_over = [&] { return current.load() != number || !is_armed(); };
  while (!is_over() && !entry.is_due()) {
    if (!interpose_is_rank_thread() && !take_over_if_stuck()) {
      entry.wait(kLookNs);
      continue;
    }
    const std::int64_t left = std::max<std::int64_t>(0, due - published());
    const auto patience = [&] { return Patience{left / kPsPerNs}; };
    const auto look = [&](std::int64_t ns) {
      if (ns > 0) entry.wait(ns);
      return is_over();
    };
    if (wait_virtually(left, patience, look) == Waited::kRunIsOver) return false;
  }
  return !is_over();
}

void* send_alarms(void* argument) {
  const auto number = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(argument));
  for (std::int64_t due = due_ps.load();;) {
    AgendaEntry entry{due};  // The rank's thread stops there until it is gone: the signal comes first.
    if (!wait_until(due, entry, number)) return nullptr;
    const std::int64_t interval = interval_ps.load();
    const std::int64_t late = std::max<std::int64_t>(0, published() - due);
    due = interval > 0 ? due + (late / interval + 1) * interval : kForever;
    if (current.load() != number) return nullptr;
    due_ps.store(due);
    if (!is_ignored()) {
      ::kill(::getpid(), SIGALRM);
      sent.fetch_add(1, std::memory_order_release);
    }
    if (due == kForever) return nullptr;
  }
}

/// Whatever was set is none any more.
void set(std::int64_t duration_ps, std::int64_t every_ps) {
  const std::uint32_t number = ++current;
  due_ps.store(kForever);
  interval_ps.store(std::min(every_ps, kLongestInterval));
  agenda_nudge();
  if (duration_ps == 0) return;
  due_ps.store(published() > kForever - duration_ps - 1 ? kForever - 1 : virtual_now_ps() + duration_ps);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // Signals are for the program's threads.
  pthread_t thread{};
  void* const argument = reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  if (::pthread_create(&thread, nullptr, send_alarms, argument) == 0) ::pthread_detach(thread);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
  const std::int64_t us = ps / (kNsPerUs * kPsPerNs) + (ps % (kNsPerUs * kPsPerNs) > 0 ? 1 : 0);
  return {.tv_sec = us / kUsPerSecond, .tv_usec = us % kUsPerSecond};
}

itimerval what_is_left() {
  const std::int64_t now = virtual_now_ps();
  const std::int64_t due = due_ps.load();
  if (due == kForever) return {};
  // Not zero, which would say that there is none.
  return {.it_interval = to_timeval(interval_ps.load()), .it_value = to_timeval(std::max<std::int64_t>(1, due - now))};
}

}  // namespace

void alarm_adopt() {
  constexpr itimerval kNone{};
  itimerval real{};
  if (next_setitimer.get()(ITIMER_REAL, &kNone, &real) == 0) set(to_ps(real.it_value), to_ps(real.it_interval));
}

void alarm_clear() {
  ++current;
  due_ps.store(kForever);
  interval_ps.store(0);
  agenda_nudge();
}

std::uint32_t alarms_sent() { return sent.load(std::memory_order_acquire); }

bool is_interrupted(std::uint32_t before) {
  if (alarms_sent() == before || !interpose_thread.is_home) return false;
  const int saved = errno;
  sigset_t blocked;
  const bool is_blocked = ::sigpending(&blocked) == 0 && ::sigismember(&blocked, SIGALRM) == 1;
  errno = saved;
  return !is_blocked;
}

}  // namespace orrery::live

using namespace orrery::live;

ORRERY_INTERPOSED int getitimer(int which, itimerval* value) {
  if (which != ITIMER_REAL || !is_armed()) return next_getitimer.get()(which, value);
  *value = what_is_left();
  return 0;
}

ORRERY_INTERPOSED int setitimer(int which, const itimerval* value, itimerval* old) {
  if (which != ITIMER_REAL || !is_armed()) return next_setitimer.get()(which, value, old);
  const itimerval wanted = value != nullptr ? *value : itimerval{};
  if (!is_time(wanted.it_value) || !is_time(wanted.it_interval)) {
    errno = EINVAL;
    return -1;
  }
  const itimerval left = what_is_left();
  set(to_ps(wanted.it_value), to_ps(wanted.it_interval));
  if (old != nullptr) *old = left;
  return 0;
}

ORRERY_INTERPOSED unsigned alarm(unsigned seconds) {
  if (!is_armed()) return next_alarm.get()(seconds);
  const itimerval value{.it_interval = {}, .it_value = {.tv_sec = static_cast<time_t>(seconds), .tv_usec = 0}};
  itimerval old{};
  setitimer(ITIMER_REAL, &value, &old);
  const timeval& left = old.it_value;
  const bool rounds_up = left.tv_usec >= kUsPerSecond / 2 || (left.tv_sec == 0 && left.tv_usec > 0);
  return static_cast<unsigned>(left.tv_sec) + (rounds_up ? 1 : 0);
}

ORRERY_INTERPOSED int pause() {
  if (!is_rank_thread()) return next_pause.get()();
  const Yielding yielding{nullptr};
  return next_pause.get()();
}
