// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/session.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <string>
#include <system_error>
#include <utility>

#include "orrery/live/rank/interpose.hpp"
#include "orrery/live/take_turns.hpp"

namespace orrery::live {
namespace {

/// One of the coordinator's descriptors, opened for ourselves. Descriptors cannot be inherited: Python closes them
/// in the children it starts.
class Descriptor {
 public:
  Descriptor(pid_t owner, int number) {
    const std::string path = "/proc/" + std::to_string(owner) + "/fd/" + std::to_string(number);
    value_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (value_ < 0) throw std::system_error{errno, std::generic_category(), path};
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  [[nodiscard]] int value() const { return value_; }
  [[nodiscard]] int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

void pin(int core, bool is_shared) {
  if (core < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  ::sched_setaffinity(0, sizeof set, &set);  // Where it is not allowed, times are noisier, nothing else.
  if (is_shared) take_turns();
}

constexpr std::size_t kLedgerBuffer = std::size_t{1} << 16;

std::string read_all(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) {
    throw std::system_error{errno, std::generic_category(), "the ledger"};
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t got = 0; got < text.size();) {
    const ssize_t count = ::pread(descriptor, text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (count <= 0) throw std::system_error{errno, std::generic_category(), "the ledger"};
    got += static_cast<std::size_t>(count);
  }
  return text;
}

const char* point_name(std::uint64_t point) {
  switch (static_cast<Point>(point)) {
    case Point::kRequest:
      return "a wait";
    case Point::kPost:
      return "the start of an operation";
    case Point::kClock:
      return "a look at the clock";
    case Point::kSleep:
      return "a sleep";
    case Point::kStore:
      return "a request to the store";
    case Point::kLeave:
      return "the end";
    case Point::kQueue:
      return "something about the device's queues";
  }
  return "something unknown";
}

/// A core that was idle computes slower at first, and raw times are to have this host's ways in them.
void idle_really(std::int64_t picoseconds) {
  constexpr std::int64_t kMost = 20'000'000;
  const timespec time{.tv_sec = 0, .tv_nsec = std::min(picoseconds / 1000, kMost)};
  ::syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);  // Not libc's, which is virtual.
}

std::int64_t scaled(std::int64_t picoseconds, double scale) {
  return scale == 1.0 ? picoseconds : std::llround(static_cast<double>(picoseconds) * scale);
}

}  // namespace

Session::Session(const JoinReply& reply, pid_t coordinator, int rank, int world)
    : arena_{Arena::open(Descriptor{coordinator, reply.arena}.value())},
      region_{engine::ExternalRegion::open(Descriptor{coordinator, reply.region}.value())},
      port_{region_, reply.slot},
      heap_{arena_, reply.slot},
      page_{arena_.page(reply.slot)},
      rank_{rank},
      world_{world},
      is_captured_{reply.is_captured != 0},
      has_scratch_{reply.is_gloo != 0},
      meter_{meter_options(reply, coordinator)} {
  pin(reply.core, reply.is_core_shared != 0);
}

void Session::start() {
  port_.start();
  publish();
}

void Session::publish() {
  const std::int64_t now = clock();
  page_.clock_ps.store(now, std::memory_order_relaxed);
  interpose_publish(now);
}

std::int64_t Session::clock() const { return queues_ ? queues_->host() : count_ps(port_.clock()); }

void Session::begin_queues() {
  if (queues_) return;
  queues_ = std::make_unique<QueueClock>();
  queues_->reach(count_ps(port_.clock()));
  if (meter_.model() == nullptr) return;
  meter_.set_queues(queues_.get(), [this] {
    return std::bit_cast<double>(page_.compute_scale_bits.load(std::memory_order_relaxed));
  });
}

void Session::follow_host() {
  const std::int64_t behind = queues_->host() - count_ps(port_.clock());
  if (behind > 0) port_.advance(Duration{behind});
}

void Session::reach(std::int64_t until) {
  pass(Point::kQueue, true);
  queues_->reach(until);
  follow_host();
  publish();
}

void Session::sleep(std::int64_t picoseconds) {
  if (!queues_) {
    request(Request::kSleep, picoseconds);
    if (meter_.is_raw()) idle_really(picoseconds);
    return;
  }
  // The simulation may have told us of later times already.
  const std::int64_t until = queues_->host() + picoseconds;
  const std::int64_t left = until - count_ps(port_.clock());
  if (left > 0) request(Request::kSleep, left);
  queues_->reach(until);
  publish();
}

void Session::adopt_thread() { interpose_claim(); }

MeterOptions Session::meter_options(const JoinReply& reply, pid_t coordinator) {
  MeterOptions options;
  options.rank = static_cast<std::uint32_t>(rank_);
  options.world = static_cast<std::uint32_t>(world_);
  options.mode = static_cast<MeterMode>(reply.compute);
  options.is_raw = reply.is_raw != 0;
  options.program = reply.program;
  options.fixed_ps = reply.fixed_ps;
  options.clock_point = static_cast<std::uint64_t>(Point::kClock);
  if (reply.ledger_in >= 0) {
    ledger_text_ = read_all(Descriptor{coordinator, reply.ledger_in}.value());
    ledger_ = std::make_unique<LedgerReader>(ledger_text_);
    options.ledger = ledger_.get();
  }
  if (reply.device >= 0) {
    model_ = std::make_unique<device::CostModel>(
        device::CostModel::from_image(read_all(Descriptor{coordinator, reply.device}.value())));
    options.model = model_.get();
  }
  options.is_recorded = reply.ledger_out >= 0;
  if (reply.table >= 0) options.table = map_table(Descriptor{coordinator, reply.table}.value());
  if (reply.ledger_out >= 0) ledger_out_ = Descriptor{coordinator, reply.ledger_out}.release();
  options.on_mismatch = [this](const LedgerMismatch& mismatch) {
    abort("the program does not do what it did when the ledger was recorded: entry " +
          std::to_string(mismatch.position) +
          (mismatch.recorded ? std::string{" is "} + point_name(*mismatch.recorded)
                             : std::string{" is missing, as the ledger has ended"}) +
          ", the program is at " + point_name(mismatch.reached));
  };
  return options;
}

void* Session::map_table(int descriptor) {
  void* const memory = ::mmap(nullptr, KeyTable::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : memory;  // Then this rank knows only what it has seen itself.
}

void Session::abort(const std::string& reason) {
  auto* const text = static_cast<char*>(heap_.allocate(reason.size() + 1, reason.size() + 1));
  reason.copy(text, reason.size());
  request(Request::kAbort, arena_.offset_of(text));
  throw engine::PortClosed{};
}

std::int64_t Session::pass(Point point, bool is_short) {
  const auto kind = static_cast<std::uint64_t>(point);
  const std::int64_t host = is_short ? meter_.split(kind) : meter_.end(kind);
  const double scale = std::bit_cast<double>(page_.compute_scale_bits.load(std::memory_order_relaxed));
  const std::int64_t charged = scaled(host, scale);
  if (queues_) {
    const std::int64_t device = std::min(charged, scaled(meter_.device_ps(), scale));
    queues_->charge(charged - device, device);
    if (point == Point::kLeave) queues_->reach(queues_->end_of_all());
    follow_host();
  } else {
    port_.advance(Duration{charged});
  }
  ++segments_;
  page_.compute_ps.store(page_.compute_ps.load(std::memory_order_relaxed) + charged,
                         std::memory_order_relaxed);
  if (ledger_out_ >= 0 && meter_.record().pending_bytes() > kLedgerBuffer) write_ledger(false);
  stamp_posts();
  publish();
  return clock();
}

void Session::touch(std::uint64_t pages, std::int64_t scratch_bytes) {
  if (queues_) return;  // Results lie in a device's memory.
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  if (has_scratch_) pages += static_cast<std::uint64_t>(scratch_.touch(scratch_bytes) / page);
  const double scale = std::bit_cast<double>(page_.compute_scale_bits.load(std::memory_order_relaxed));
  const std::int64_t charged = scaled(meter_.touch(pages), scale);
  if (charged == 0) return;
  port_.advance(Duration{charged});
  touched_ps_ += charged;
  publish();
}

void Session::stamp_posts() {
  for (orrery_op* const op : unstamped_) op->posted_ps = stamp(*op);
  unstamped_.clear();
}

std::int64_t Session::stamp(const orrery_op& op) const {
  const std::int64_t now = count_ps(port_.clock());
  return queues_ && op.on_device != 0 ? std::max(now, queues_->ready()) : now;
}

void Session::write_ledger(bool is_last) {
  if (ledger_out_ < 0) return;
  const std::string bytes = is_last ? meter_.record().finish() : meter_.record().take();
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t count = ::write(ledger_out_, bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno != EINTR) {
      throw std::system_error{errno, std::generic_category(), "writing the ledger"};
    }
    if (count > 0) written += static_cast<std::size_t>(count);
  }
}

void Session::pause() {
  if (pauses_++ == 0) meter_.pause();
}

void Session::resume() {
  if (--pauses_ == 0) meter_.resume();
}

std::int64_t Session::last_clock() const { return page_.clock_ps.load(std::memory_order_relaxed); }

void Session::resume_computing() { meter_.begin(); }

std::int64_t Session::request(Request request, std::int64_t argument, bool is_device) {
  engine::Call call;
  call.operation = static_cast<std::uint32_t>(request);
  call.arguments = {oldest_post_, static_cast<std::int64_t>(segments_), argument,
                    std::exchange(touched_ps_, 0)};
  oldest_post_ = 0;
  newest_post_ = nullptr;
  const std::int64_t asked = count_ps(port_.clock());
  const std::int64_t answer = port_.call(call, request == Request::kExit || request == Request::kAbort);
  if (queues_ && request == Request::kTest) {
    // A poll takes as long as it takes, also for a host that lies behind.
    queues_->reach(queues_->host() + count_ps(port_.clock()) - asked);
  } else if (queues_ && !is_device && request != Request::kSleep) {
    queues_->reach(count_ps(port_.clock()));
  }
  publish();
  return answer;
}

WaitSet& Session::wait_set(std::size_t count) {
  if (count > wait_room_) {
    if (wait_set_ != nullptr) ArenaHeap::release(wait_set_);
    wait_room_ = std::max<std::size_t>(2 * count, 16);
    wait_set_ = static_cast<WaitSet*>(
        heap_.allocate(sizeof(WaitSet) + wait_room_ * sizeof(std::uint64_t), sizeof(WaitSet)));
  }
  return *wait_set_;
}

void Session::post(orrery_op& op) {
  op.posted_ps = stamp(op);
  if (op.is_async == 0) unstamped_.push_back(&op);
  op.next = 0;
  const std::int64_t offset = arena_.offset_of(&op);
  if (newest_post_ == nullptr) {
    oldest_post_ = offset;
  } else {
    newest_post_->next = offset;
  }
  newest_post_ = &op;
}

void Session::finish() {
  write_ledger(true);
  port_.finish();
}

}  // namespace orrery::live
