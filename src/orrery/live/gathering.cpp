// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/gathering.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/engine/engine.hpp"

namespace orrery::live {
namespace {

constexpr int kTick = 200;  // Milliseconds between looks at the user's Ctrl-C.

[[noreturn]] void fail(const char* what) {
  throw InputError{fmt::format("{}: {}", what, std::strerror(errno))};
}

std::uint64_t random_word() {
  std::uint64_t word = 0;
  if (::getrandom(&word, sizeof word, 0) != sizeof word) fail("getrandom");
  return word;
}

}  // namespace

Gathering::Gathering() : name_{fmt::format("orrery-{}-{:016x}", ::getpid(), random_word())} {
  listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (listener_ < 0) fail("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name_.data(), name_.size());  // Abstract: no file to remove.
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), length) != 0) fail("bind");
  if (::listen(listener_, SOMAXCONN) != 0) fail("listen");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  control_ = ends[0];
  launcher_ = ends[1];
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) fail("eventfd");
}

Gathering::~Gathering() {
  for (const Member& member : members_) {
    if (member.connection >= 0) ::close(member.connection);
  }
  for (const int descriptor : {listener_, control_, launcher_, wake_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

std::string Gathering::address() const { return fmt::format("{}:{}", ::getpid(), name_); }

void Gathering::tell(const ChildEvent& event) {
  {
    const std::scoped_lock lock{mutex_};
    events_.push_back(event);
  }
  ::eventfd_write(wake_, 1);
}

std::deque<ChildEvent> Gathering::take_events() {
  const std::scoped_lock lock{mutex_};
  return std::exchange(events_, {});
}

int Gathering::rank_of(pid_t process) const {
  const std::scoped_lock lock{mutex_};
  const auto found = rank_of_.find(process);
  return found == rank_of_.end() ? -1 : found->second;
}

bool Gathering::is_complete() const { return world_ > 0 && static_cast<int>(members_.size()) == world_; }

std::vector<Gathering::Member> Gathering::wait(const Options& options) {
  if (launcher_ >= 0) ::close(std::exchange(launcher_, -1));  // It has its own by now.
  world_ = options.world.value_or(0);
  constexpr auto kPatience = std::chrono::seconds{10};
  auto next_word = std::chrono::steady_clock::now() + kPatience;
  while (!is_complete()) {
    pollfd polled[3]{{.fd = listener_, .events = POLLIN, .revents = 0},
                     {.fd = wake_, .events = POLLIN, .revents = 0},
                     {.fd = control_, .events = POLLIN, .revents = 0}};
    ::poll(polled, control_ >= 0 ? 3 : 2, kTick);
    if (options.wants_stop && options.wants_stop()) throw engine::Interrupted{};
    if (polled[2].revents != 0) read_launcher();
    if (polled[0].revents != 0) {
      accept_one(options);
      next_word = std::chrono::steady_clock::now() + kPatience;
    }
    if (polled[1].revents != 0) {
      eventfd_t ignored = 0;
      ::eventfd_read(wake_, &ignored);
    }
    // Only when nobody stands at the door: a process may join and end before we look.
    if (polled[0].revents == 0 && polled[2].revents == 0) {
      check_events(options);
      if (root_end_ && members_.empty() && !options.world) return {};
    }
    if (std::chrono::steady_clock::now() > next_word && world_ > 0 && !members_.empty() && options.say) {
      next_word += 3 * kPatience;
      options.say(missing_text());
    }
  }
  // Nobody looks at the door any more: whoever comes now must not wait before it.
  ::close(std::exchange(listener_, -1));
  std::ranges::sort(members_, {}, &Member::rank);
  return std::exchange(members_, {});
}

std::string Gathering::missing_text() const {
  std::vector<std::string> missing;
  for (int rank = 0; rank < world_; ++rank) {
    if (std::ranges::find(members_, rank, &Member::rank) == members_.end()) {
      missing.push_back(std::to_string(rank));
    }
  }
  if (missing.size() > 8) {
    missing.resize(8);
    missing.emplace_back("...");
  }
  return fmt::format("waiting for rank {} of {} to join", join(missing, ", "), world_);
}

void Gathering::accept_one(const Options& options) {
  Member member;
  member.connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (member.connection < 0) return;
  JoinRequest request;
  timeval patience{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(member.connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::recv(member.connection, &request, sizeof request, 0) != sizeof request ||
      request.magic != kJoinMagic) {
    ::close(member.connection);
    return;
  }
  // The kernel's word for who it is, not the process's.
  ucred credentials{};
  socklen_t length = sizeof credentials;
  ::getsockopt(member.connection, SOL_SOCKET, SO_PEERCRED, &credentials, &length);
  member.process = credentials.pid;
  member.rank = request.rank;
  const auto refuse = [&](const std::string& reason) {
    JoinReply answer;
    reason.copy(answer.reason, sizeof answer.reason - 1);
    reply(member, answer);
    throw SimulationError{reason};
  };
  if (world_ == 0) {
    if (request.world > options.most) {
      refuse(fmt::format("the program has {} ranks, cluster '{}' has room for {}", request.world,
                         options.cluster, options.most));
    }
    world_ = request.world;
  }
  if (request.world != world_) {
    refuse(fmt::format("rank {} says that the world has {} ranks, others say {}", request.rank, request.world,
                       world_));
  }
  if (request.rank < 0 || request.rank >= world_) {
    refuse(fmt::format("a process says it is rank {} of {}", request.rank, world_));
  }
  if (std::ranges::find(members_, request.rank, &Member::rank) != members_.end()) {
    refuse(fmt::format("two processes say they are rank {}", request.rank));
  }
  claim(member.process, member.rank);
  members_.push_back(member);
}

void Gathering::reply(Member& member, const JoinReply& reply) {
  ::send(member.connection, &reply, sizeof reply, MSG_NOSIGNAL);
  ::close(std::exchange(member.connection, -1));
}

void Gathering::read_launcher() {
  char text[4096];
  const ssize_t got = ::recv(control_, text, sizeof text, 0);
  if (got <= 0) {
    ::close(std::exchange(control_, -1));  // The launcher is through.
    return;
  }
  const auto message = nlohmann::json::parse(text, text + got, nullptr, false);
  if (message.is_discarded()) return;
  if (message.contains("error")) throw InputError{message["error"].get<std::string>()};
  if (message.contains("failed")) throw SimulationError{message["failed"].get<std::string>()};
  if (message.contains("pid")) claim(message["pid"].get<pid_t>(), message["rank"].get<int>());
}

void Gathering::claim(pid_t process, int rank) {
  {
    const std::scoped_lock lock{mutex_};
    rank_of_[process] = rank;
  }
  for (const ChildEvent& event : unclaimed_) {
    if (event.process == process) tell(event);
  }
}

void Gathering::check_events(const Options& options) {
  for (const ChildEvent& event : take_events()) {
    const bool is_root = event.process == options.root;
    if (is_root && !event.has_stopped) root_end_ = event;
    const int rank = rank_of(event.process);
    if (rank >= 0) {
      throw SimulationError{fmt::format("rank {} {} before all ranks had started", rank, to_text(event))};
    }
    const bool is_bad = event.has_stopped || event.was_killed || event.status != 0;
    if (!is_root) unclaimed_.push_back(event);
    if (!is_root) continue;
    if (options.world && is_bad) {
      throw SimulationError{fmt::format("the fork server {} before all ranks had started", to_text(event))};
    }
    if (!options.world && (event.has_stopped || !members_.empty())) {
      throw SimulationError{fmt::format("the program {}{}", to_text(event),
                                        members_.empty() ? "" : " while " + missing_text())};
    }
  }
}

}  // namespace orrery::live
