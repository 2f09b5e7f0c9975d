// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/external_region.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <bit>
#include <new>
#include <system_error>
#include <utility>

namespace orrery::engine {
namespace {

constexpr std::uint64_t kMagic = 0x54524F5059524F02ULL;  // Also the version of the layout.
constexpr std::uint32_t kMostSlots = 1U << 20;
constexpr std::size_t kBits = 64;

enum Bell : std::uint32_t { kQuiet, kRung, kHostAsleep };

constexpr std::size_t posted_words(std::uint32_t slots) {
  constexpr std::size_t kPerLine = kCacheLine / sizeof(std::uint64_t);
  const std::size_t words = (slots + kBits - 1) / kBits;
  return (words + kPerLine - 1) / kPerLine * kPerLine;
}

constexpr std::size_t queue_bytes(std::uint32_t slots) {
  return (slots * sizeof(std::uint32_t) + kCacheLine - 1) / kCacheLine * kCacheLine;
}

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error{error, std::generic_category(), what};
}

void* map(int descriptor, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) fail(errno, "mapping the region shared with processes");
  return memory;
}

}  // namespace

void set_state(Slot& slot, SlotState next) {
  SlotState state = slot.load();
  while (state != SlotState::kClosed) {
    const bool is_asleep = state == SlotState::kAsleep;
    if (!slot.exchange(state, next)) continue;
    if (is_asleep) futex_wake(slot.state);
    return;
  }
}

struct alignas(kCacheLine) ExternalRegion::Header {
  std::uint64_t magic = kMagic;
  std::uint32_t slots = 0;
  std::int32_t host = 0;  ///< Its process id.
  alignas(kCacheLine) FutexWord bell;
  alignas(kCacheLine) std::atomic<std::uint64_t> head = 0;  ///< Of the queue: taken by whoever frees a place.
  std::atomic<std::uint64_t> tail = 0;                      ///< Of the queue: the host's.
  std::atomic<std::uint32_t> free_places = 0;
  std::atomic<std::uint32_t> passes_on = 0;  ///< Whether posts take from the queue.

  /// One bit per slot, in words; the queue; then the slots.
  [[nodiscard]] static std::size_t bytes(std::uint32_t slots) {
    return sizeof(Header) + posted_words(slots) * sizeof(std::uint64_t) + queue_bytes(slots) +
           slots * sizeof(Slot);
  }
};

ExternalRegion::ExternalRegion(void* memory, std::size_t bytes, std::uint32_t slots, int descriptor)
    : memory_{memory}, bytes_{bytes}, slots_{slots}, descriptor_{descriptor} {
  static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t));
  auto* const base = static_cast<std::byte*>(memory);
  std::byte* const words = base + sizeof(Header);
  header_ = reinterpret_cast<Header*>(base);
  posted_ = reinterpret_cast<std::atomic<std::uint64_t>*>(words);
  std::byte* const queue = words + posted_words(slots) * sizeof(std::uint64_t);
  queue_ = reinterpret_cast<std::atomic<std::uint32_t>*>(queue);
  slot_ = reinterpret_cast<Slot*>(queue + queue_bytes(slots));
}

ExternalRegion ExternalRegion::create(std::uint32_t slots) {
  if (slots == 0 || slots > kMostSlots) fail(EINVAL, "number of processes outside");
  const std::size_t bytes = Header::bytes(slots);
  const int descriptor = ::memfd_create("orrery", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) fail(errno, "memfd_create");
  void* memory = nullptr;
  try {
    if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) fail(errno, "sizing the region");
    // Nobody may shrink it under our feet, which would be a SIGBUS.
    if (::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) fail(errno, "sealing the region");
    memory = map(descriptor, bytes);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ExternalRegion region{memory, bytes, slots, descriptor};
  new (region.header_) Header{.magic = kMagic, .slots = slots, .host = ::getpid(), .bell = kQuiet};
  for (std::size_t i = 0; i < posted_words(slots); ++i) {
    new (&region.posted_[i]) std::atomic<std::uint64_t>{0};
  }
  for (std::uint32_t i = 0; i < slots; ++i) new (&region.queue_[i]) std::atomic<std::uint32_t>{0};
  for (std::uint32_t i = 0; i < slots; ++i) new (&region.slot_[i]) Slot{};  // kWaiting, which is zero.
  return region;
}

ExternalRegion ExternalRegion::open(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) fail(errno, "the region's descriptor");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes < sizeof(Header)) fail(EINVAL, "not a region of a process host");
  ExternalRegion region{map(descriptor, bytes), bytes, 0, -1};
  const std::uint32_t slots = region.header_->slots;
  if (region.header_->magic != kMagic || slots > kMostSlots || Header::bytes(slots) != bytes) {
    fail(EINVAL, "not a region of a process host, or of another version");
  }
  return {std::exchange(region.memory_, nullptr), bytes, slots, -1};
}

ExternalRegion::ExternalRegion(ExternalRegion&& other) noexcept
    : memory_{std::exchange(other.memory_, nullptr)},
      bytes_{other.bytes_},
      slots_{other.slots_},
      descriptor_{std::exchange(other.descriptor_, -1)},
      header_{other.header_},
      posted_{other.posted_},
      queue_{other.queue_},
      slot_{other.slot_} {}

ExternalRegion::~ExternalRegion() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ExternalRegion::post(std::uint32_t index, bool is_urgent) {
  posted_[index / kBits].fetch_or(std::uint64_t{1} << (index % kBits), std::memory_order_acq_rel);
  if (header_->passes_on.load(std::memory_order_relaxed) != 0) {
    // The next one was resumed no later than now, so the clock stands still until it has asked as well: there is
    // nothing for the host to do, and a detour through it would cost two more switches.
    const bool is_passed_on = release_next();
    if (!is_passed_on) header_->free_places.fetch_add(1, std::memory_order_acq_rel);
    if (is_passed_on && !is_urgent) return;
  }
  ring();
}

void ExternalRegion::pass_places_on(std::uint32_t places) {
  header_->free_places.store(places, std::memory_order_relaxed);
  header_->passes_on.store(1, std::memory_order_release);
}

void ExternalRegion::queue(std::uint32_t index) {
  const std::uint64_t tail = header_->tail.load(std::memory_order_relaxed);
  queue_[tail % slots_].store(index, std::memory_order_relaxed);
  header_->tail.store(tail + 1, std::memory_order_release);
}

bool ExternalRegion::release_next() {
  std::uint64_t head = header_->head.load(std::memory_order_acquire);
  for (;;) {
    if (head == header_->tail.load(std::memory_order_acquire)) return false;
    // Nobody overwrites the entry before `head` moves: the ring has room for every slot.
    const std::uint32_t index = queue_[head % slots_].load(std::memory_order_relaxed);
    if (!header_->head.compare_exchange_weak(head, head + 1, std::memory_order_acq_rel)) continue;
    if (index < slots_) set_state(slot_[index], SlotState::kRunning);
    return true;
  }
}

void ExternalRegion::fill_places() {
  std::uint32_t places = header_->free_places.load(std::memory_order_acquire);
  while (places > 0) {
    if (!header_->free_places.compare_exchange_weak(places, places - 1, std::memory_order_acq_rel)) continue;
    if (!release_next()) {
      header_->free_places.fetch_add(1, std::memory_order_acq_rel);
      return;
    }
    places = header_->free_places.load(std::memory_order_acquire);
  }
}

void ExternalRegion::ring() {
  if (header_->bell.exchange(kRung, std::memory_order_acq_rel) == kHostAsleep) futex_wake(header_->bell);
}

void ExternalRegion::listen() {
  std::uint32_t bell = kQuiet;
  if (header_->bell.compare_exchange_strong(bell, kHostAsleep, std::memory_order_acq_rel)) {
    // Rings wake it. The limit is for signals that come just before it sleeps.
    constexpr timespec kLongest{.tv_sec = 0, .tv_nsec = 500'000'000};
    futex_wait(header_->bell, kHostAsleep, &kLongest);
  }
  // Quiet first, look afterwards: whoever posts in between rings again.
  header_->bell.exchange(kQuiet, std::memory_order_acq_rel);
}

void ExternalRegion::collect(std::vector<std::uint32_t>& posted) {
  for (std::uint32_t first = 0; first < slots_; first += kBits) {
    std::atomic<std::uint64_t>& word = posted_[first / kBits];
    if (word.load(std::memory_order_relaxed) == 0) continue;
    std::uint64_t bits = word.exchange(0, std::memory_order_acq_rel);
    for (; bits != 0; bits &= bits - 1) {
      const std::uint32_t index = first + static_cast<std::uint32_t>(std::countr_zero(bits));
      if (index < slots_) posted.push_back(index);
    }
  }
}

bool ExternalRegion::has_host() const {
  const long process = ::syscall(SYS_pidfd_open, header_->host, 0);
  if (process < 0) return errno != ESRCH;
  pollfd poll{.fd = static_cast<int>(process), .events = POLLIN, .revents = 0};
  const bool ended = ::poll(&poll, 1, 0) == 1;  // Also when it is a zombie.
  ::close(poll.fd);
  return !ended;
}

}  // namespace orrery::engine
