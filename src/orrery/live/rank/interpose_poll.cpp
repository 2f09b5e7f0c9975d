// SPDX-License-Identifier: Apache-2.0
// poll(), select() and epoll_wait() with a timeout, on the rank's thread; without descriptors they are sleeps (those
// of Python 3.10 and older). asyncio.sleep(5) ends here, and must take
// no real time; a worker that answers through a pipe, or a server on the network, must not be timed out.
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "orrery/live/rank/interpose_patience.hpp"

namespace {

using namespace orrery::live;

constinit Next<int(pollfd*, nfds_t, int)> next_poll{"poll"};
constinit Next<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> next_ppoll{"ppoll"};
constinit Next<int(int, fd_set*, fd_set*, fd_set*, timeval*)> next_select{"select"};
constinit Next<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> next_pselect{"pselect"};
constinit Next<int(int, epoll_event*, int, int)> next_epoll_wait{"epoll_wait"};
constinit Next<int(int, epoll_event*, int, int, const sigset_t*)> next_epoll_pwait{"epoll_pwait"};
constinit Next<int(int, epoll_event*, int, const timespec*, const sigset_t*)> next_epoll_pwait2{
    "epoll_pwait2"};

[[gnu::constructor(101)]] void resolve() {
  next_poll.get();
  next_ppoll.get();
  next_select.get();
  next_pselect.get();
  next_epoll_wait.get();
  next_epoll_pwait.get();
  next_epoll_pwait2.get();
}

constexpr std::int64_t kNsPerMs = 1'000'000;

std::int64_t ms_to_ps(int ms) { return ns_to_ps(ms * kNsPerMs); }

/// Whether somebody on a network may answer through this descriptor.
bool is_network_socket(int descriptor) {
  int family = 0;
  socklen_t size = sizeof family;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 &&
         (family == AF_INET || family == AF_INET6);
}

bool has_network_socket(const pollfd* polled, nfds_t count) {
  const int saved = errno;
  const bool has = std::any_of(polled, polled + count, [](const pollfd& entry) {
    return entry.fd >= 0 && is_network_socket(entry.fd);
  });
  errno = saved;
  return has;
}

/// What a wait gives: the last look's result, EINTR when an alarm has ended it, or `really()` when it is not ours now.
template <class Really>
int ended(Waited waited, int result, Really&& really) {
  if (result == 0 && waited == Waited::kNotOurs) return really();
  if (result != 0 || waited != Waited::kInterrupted) return result;
  errno = EINTR;
  return -1;
}

/// A wait without descriptors.
template <class Really>
int sleep_for(std::int64_t timeout_ps, Really&& really) {
  const Slept slept = sleep_virtually(timeout_ps);
  if (slept == Slept::kNotHere) return really();
  return ended(slept == Slept::kInterrupted ? Waited::kInterrupted : Waited::kOver, 0, really);
}

/// ppoll, the most general of them; `mask` may be null.
template <class Really>
int poll_in_rank(pollfd* polled, nfds_t count, std::int64_t timeout_ps, const sigset_t* mask, Really&& really) {
  int result = 0;
  const Waited waited = wait_virtually(
      timeout_ps, [&] { return Patience{timeout_ps / kPsPerNs, has_network_socket(polled, count)}; },
      [&](std::int64_t ns) {
        const timespec real = to_timespec(ns);
        result = next_ppoll.get()(polled, count, &real, mask);
        return result != 0;
      });
  return ended(waited, result, really);
}

/// A real wait overwrites its sets, and we wait several times.
struct SelectSets {
  fd_set* sets[3];
  fd_set saved[3];

  SelectSets(fd_set* read, fd_set* write, fd_set* except) : sets{read, write, except} {
    for (int i = 0; i < 3; ++i) {
      if (sets[i] != nullptr) saved[i] = *sets[i];
    }
  }
  void restore() {
    for (int i = 0; i < 3; ++i) {
      if (sets[i] != nullptr) *sets[i] = saved[i];
    }
  }
  [[nodiscard]] bool has_network_socket(int count) const {
    const int saved_errno = errno;
    bool has = false;
    for (int descriptor = 0; descriptor < count && !has; ++descriptor) {
      for (int i = 0; i < 3; ++i) {
        if (sets[i] == nullptr || !FD_ISSET(descriptor, &saved[i])) continue;
        has = is_network_socket(descriptor);
        break;
      }
    }
    errno = saved_errno;
    return has;
  }
};

/// `left_ps`: what is left of the time.
template <class Really>
int select_in_rank(int count, SelectSets sets, std::int64_t timeout_ps, const sigset_t* mask, std::int64_t& left_ps,
                   Really&& really) {
  int result = 0;
  const Waited waited = wait_virtually(
      timeout_ps, [&] { return Patience{timeout_ps / kPsPerNs, sets.has_network_socket(count)}; },
      [&](std::int64_t ns) {
        sets.restore();
        const timespec real = to_timespec(ns);
        result = next_pselect.get()(count, sets.sets[0], sets.sets[1], sets.sets[2], &real, mask);
        return result != 0;
      },
      &left_ps);
  if (waited != Waited::kOver) sets.restore();  // A look in vain has emptied them.
  return ended(waited, result, really);
}

template <class Really>
int epoll_in_rank(int epoll, epoll_event* events, int capacity, std::int64_t timeout_ps, const sigset_t* mask,
                  Really&& really) {
  int result = 0;
  const Waited waited = wait_virtually(
      timeout_ps, [&] { return Patience{timeout_ps / kPsPerNs}; },
      [&](std::int64_t ns) {
        const auto ms = static_cast<int>((ns + kNsPerMs - 1) / kNsPerMs);
        result = next_epoll_pwait.get()(epoll, events, capacity, ms, mask);
        return result != 0;
      });
  return ended(waited, result, really);
}

}  // namespace

ORRERY_INTERPOSED int poll(pollfd* polled, nfds_t count, int timeout) {
  const auto really = [&] { return next_poll.get()(polled, count, timeout); };
  if (timeout <= 0) return really();
  if (count == 0) return sleep_for(ms_to_ps(timeout), really);
  return keeps_time() ? poll_in_rank(polled, count, ms_to_ps(timeout), nullptr, really) : really();
}

ORRERY_INTERPOSED int ppoll(pollfd* polled, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  const auto really = [&] { return next_ppoll.get()(polled, count, timeout, mask); };
  if (!is_valid(timeout) || !keeps_time()) return really();
  return poll_in_rank(polled, count, ns_to_ps(to_ns(*timeout)), mask, really);
}

// What programs call instead when they are built with _FORTIFY_SOURCE; the sizes they add are the compiler's.
ORRERY_INTERPOSED int __poll_chk(pollfd* polled, nfds_t count, int timeout, size_t) {
  return poll(polled, count, timeout);
}

ORRERY_INTERPOSED int __ppoll_chk(pollfd* polled, nfds_t count, const timespec* timeout, const sigset_t* mask,
                                  size_t) {
  return ppoll(polled, count, timeout, mask);
}

ORRERY_INTERPOSED int select(int count, fd_set* read, fd_set* write, fd_set* except, timeval* timeout) {
  const auto really = [&] { return next_select.get()(count, read, write, except, timeout); };
  if (!is_armed() || timeout == nullptr || timeout->tv_sec < 0 || timeout->tv_usec < 0 ||
      timeout->tv_usec >= 1'000'000 || count > FD_SETSIZE) {
    return really();
  }
  const timespec time{.tv_sec = timeout->tv_sec, .tv_nsec = timeout->tv_usec * 1000};
  const std::int64_t timeout_ps = ns_to_ps(to_ns(time));
  if (count == 0) return sleep_for(timeout_ps, really);
  if (!keeps_time()) return really();
  std::int64_t left_ps = 0;
  const int result = select_in_rank(count, {read, write, except}, timeout_ps, nullptr, left_ps, really);
  const std::int64_t left_us = left_ps / kPsPerNs / 1000;
  if (result <= 0) *timeout = {.tv_sec = left_us / 1'000'000, .tv_usec = left_us % 1'000'000};  // As Linux does.
  return result;
}

ORRERY_INTERPOSED int pselect(int count, fd_set* read, fd_set* write, fd_set* except, const timespec* timeout,
                              const sigset_t* mask) {
  const auto really = [&] { return next_pselect.get()(count, read, write, except, timeout, mask); };
  if (!is_valid(timeout) || count > FD_SETSIZE || !keeps_time()) return really();
  std::int64_t left_ps = 0;
  return select_in_rank(count, {read, write, except}, ns_to_ps(to_ns(*timeout)), mask, left_ps, really);
}

ORRERY_INTERPOSED int epoll_wait(int epoll, epoll_event* events, int capacity, int timeout) {
  const auto really = [&] { return next_epoll_wait.get()(epoll, events, capacity, timeout); };
  if (timeout <= 0 || !keeps_time()) return really();
  return epoll_in_rank(epoll, events, capacity, ms_to_ps(timeout), nullptr, really);
}

ORRERY_INTERPOSED int epoll_pwait(int epoll, epoll_event* events, int capacity, int timeout,
                                  const sigset_t* mask) {
  const auto really = [&] { return next_epoll_pwait.get()(epoll, events, capacity, timeout, mask); };
  if (timeout <= 0 || !keeps_time()) return really();
  return epoll_in_rank(epoll, events, capacity, ms_to_ps(timeout), mask, really);
}

ORRERY_INTERPOSED int epoll_pwait2(int epoll, epoll_event* events, int capacity, const timespec* timeout,
                                   const sigset_t* mask) {
  const auto really = [&] { return next_epoll_pwait2.get()(epoll, events, capacity, timeout, mask); };
  if (!is_valid(timeout) || !keeps_time()) return really();
  return epoll_in_rank(epoll, events, capacity, ns_to_ps(to_ns(*timeout)), mask, really);
}
