// SPDX-License-Identifier: Apache-2.0
// Joining, leaving, and time.
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "orrery/live/rank/guarded.hpp"
#include "orrery/live/rank/interpose.hpp"
#include "orrery/live/rank/session.hpp"

namespace orrery::live {
namespace {

std::atomic<Session*> the_session{nullptr};
pid_t the_process = 0;  // That joined.
std::atomic<bool> is_leaving{false};
std::string the_reason;

void forget_in_child() {
  // A child that a rank forks is no rank. Its session's memory stays mapped and is never touched again.
  the_session.store(nullptr, std::memory_order_relaxed);
  interpose_disarm();
}

/// CLOCK_MONOTONIC at virtual time 0; any value will do, and the same in every run.
constexpr std::int64_t kMonotonicBase = 1'000'000'000'000;

int make_progress() { return orrery_progress_hook == nullptr ? 0 : orrery_progress_hook(); }
int has_pending() { return orrery_pending_hook == nullptr ? 0 : orrery_pending_hook(); }

struct Coordinator {
  pid_t process = 0;
  std::string socket;
};

/// From the environment; process 0 when this is no process of a run.
Coordinator find_coordinator() {
  const char* text = std::getenv(kLiveVariable);
  Coordinator found;
  if (text == nullptr) return found;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, found.process);
  if (error != std::errc{} || rest == end || *rest != ':') return {};
  found.socket = rest + 1;
  return found;
}

int connect_to(const Coordinator& coordinator) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (coordinator.socket.size() + 1 > sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(address.sun_path + 1, coordinator.socket.data(), coordinator.socket.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + coordinator.socket.size());
  const int connection = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), length) == 0) return connection;
  const int problem = errno;
  ::close(connection);
  errno = problem;
  return -1;
}

/// The coordinator may keep us waiting until it knows the whole world.
bool ask(int connection, const JoinRequest& request, JoinReply& reply) {
  if (::send(connection, &request, sizeof request, MSG_NOSIGNAL) != sizeof request) return false;
  ssize_t got = -1;
  do {
    got = ::recv(connection, &reply, sizeof reply, 0);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof reply) && reply.magic == kJoinMagic) return true;
  if (got >= 0) errno = ECONNRESET;
  return false;
}

/// The coordinator listens until its world is complete.
const char* why_not_connected(const Coordinator& coordinator, int problem) {
  const bool is_closed = problem == ECONNREFUSED && ::kill(coordinator.process, 0) == 0;
  return is_closed ? "all ranks of the run had already joined, and this process is none of them"
                   : "the coordinator does not answer";
}

}  // namespace

Session* session() { return the_session.load(std::memory_order_relaxed); }

void keep_reason(const char* text) { the_reason = text; }

void leave_without_a_word() {
  Session* const self = session();
  // A child made by vfork() has our memory, and no handler has told it that it is no rank.
  if (self == nullptr || the_process != ::getpid() || is_leaving || interpose_is_inside()) return;
  // For good: no thread of this process gets to do anything after its end. When one is in the middle of something, it
  // has the port, and the rank cannot end in order.
  if (!self->mutex().try_lock()) return;
  orrery_rank_leave(0);
}

}  // namespace orrery::live

using namespace orrery::live;

int orrery_rank_is_live(void) {
  static const bool is_live = std::getenv(kLiveVariable) != nullptr;
  return is_live ? 1 : 0;
}

int orrery_rank_is_joined(void) { return session() != nullptr ? 1 : 0; }
int orrery_rank_number(void) { return session() == nullptr ? -1 : session()->rank(); }
int orrery_rank_world(void) { return session() == nullptr ? 0 : session()->world(); }
const char* orrery_rank_reason(void) { return the_reason.c_str(); }

int orrery_rank_join(int rank, int world) {
  return guarded([&] {
    if (session() != nullptr) return 0;
    const Coordinator coordinator = find_coordinator();
    if (coordinator.process == 0) return refuse(ENOTCONN, "not started by orrery run");
    const int connection = connect_to(coordinator);
    if (connection < 0) {
      const int problem = errno;
      return refuse(problem, why_not_connected(coordinator, problem));
    }
    JoinReply reply;
    const bool is_answered = ask(connection, {.rank = rank, .world = world, .process = ::getpid()}, reply);
    const int problem = errno;
    ::close(connection);
    if (!is_answered) return refuse(problem, "the coordinator does not answer");
    if (reply.is_accepted == 0) return refuse(EPERM, reply.reason);
    static bool has_handler = false;
    if (!std::exchange(has_handler, true)) ::pthread_atfork(nullptr, nullptr, forget_in_child);
    auto joined = std::make_unique<Session>(reply, coordinator.process, rank, world);
    joined->start();
    joined->resume_computing();
    the_process = ::getpid();
    the_session.store(joined.release());  // Until the process ends.
    interpose_arm({.monotonic_base_ns = kMonotonicBase,
                   .realtime_base_ns = reply.epoch_ns != 0 ? reply.epoch_ns : epoch_from_environment(),
                   .now = orrery_now,
                   .sleep = orrery_sleep,
                   .progress = make_progress,
                   .has_pending = has_pending});
    return 0;
  });
}

int orrery_rank_leave(int status) {
  if (session() == nullptr) return 0;
  is_leaving = true;
  return guarded([&] {
    Session& self = *session();
    const std::scoped_lock lock{self.mutex()};
    self.pass(Point::kLeave);
    self.request(Request::kExit, status);
    self.finish();
    the_session.store(nullptr);
    interpose_disarm();
    return 0;
  });
}

int64_t orrery_now(void) {
  Session* const self = session();
  if (self == nullptr) return 0;
  if (!interpose_is_rank_thread() || self->is_paused() || is_in_kernel()) return self->last_clock();
  std::int64_t clock = 0;
  guarded([&] {
    const std::scoped_lock lock{self->mutex()};
    // Another thread may have become the rank's while it had the lock.
    clock = interpose_is_rank_thread() ? self->pass(Point::kClock, true) : self->last_clock();
    return 0;
  });
  return clock;
}

int orrery_sleep(int64_t picoseconds) {
  if (session() == nullptr) return refuse(ENOTCONN, "no rank");
  return guarded([&] {
    Session& self = *session();
    const std::scoped_lock lock{self.mutex()};
    if (!interpose_is_rank_thread()) return kNotYours;
    self.pass(Point::kSleep);
    self.sleep(picoseconds > 0 ? picoseconds : 0);
    self.resume_computing();
    return 0;
  });
}

void orrery_pause(void) {
  if (session() != nullptr && interpose_is_rank_thread()) session()->pause();
}
void orrery_resume(void) {
  if (session() != nullptr && interpose_is_rank_thread()) session()->resume();
}
void orrery_operator_enter(void) {
  if (session() != nullptr) session()->meter().operator_enter();
}
void orrery_operator_begin(uint64_t key) {
  if (session() != nullptr) session()->meter().operator_begin(key);
}
void orrery_operator_end(void) {
  if (session() != nullptr) session()->meter().operator_end();
}
int orrery_wants_operators(void) {
  if (session() == nullptr || !session()->meter().wants_operators()) return ORRERY_WANTS_NONE;
  return session()->meter().model() == nullptr ? ORRERY_WANTS_KEYS : ORRERY_WANTS_SHAPES;
}
int orrery_is_measured(void) { return session() != nullptr && session()->meter().is_measured() ? 1 : 0; }
int64_t orrery_operator_ps(uint64_t key) {
  return session() == nullptr ? 0 : session()->meter().operator_ps(key);
}

int (*orrery_progress_hook)(void) = nullptr;
int (*orrery_pending_hook)(void) = nullptr;
