// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace orrery::live {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLarge = std::uint64_t{1} << 20;  // From here on, idle blocks give their pages back.
constexpr std::uint64_t kIdleBytes = std::uint64_t{64} << 20;  // Unless this little is idle in all.

[[noreturn]] void fail(const char* what) { throw std::system_error{errno, std::generic_category(), what}; }

std::byte* map(int descriptor, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (memory == MAP_FAILED) fail("mapping the memory of tensors");
  // A core dump of a rank need not hold everybody's tensors.
  ::madvise(memory, bytes, MADV_DONTDUMP);
  return static_cast<std::byte*>(memory);
}

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

Arena::Arena(std::byte* base, std::uint32_t parts, int descriptor)
    : base_{base}, parts_{parts}, descriptor_{descriptor} {}

Arena Arena::create(std::uint32_t parts) {
  const int descriptor = ::memfd_create("orrery-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) fail("memfd_create");
  try {
    const std::uint64_t bytes = parts * kArenaPart;
    if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) fail("sizing the memory of tensors");
    if (::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) fail("sealing");
    return {map(descriptor, bytes), parts, descriptor};
  } catch (...) {
    ::close(descriptor);
    throw;
  }
}

Arena Arena::open(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) fail("the arena's descriptor");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes == 0 || bytes % kArenaPart != 0) {
    errno = EINVAL;
    fail("not the arena of a run");
  }
  return {map(descriptor, bytes), static_cast<std::uint32_t>(bytes / kArenaPart), -1};
}

Arena::Arena(Arena&& other) noexcept
    : base_{std::exchange(other.base_, nullptr)},
      parts_{other.parts_},
      descriptor_{std::exchange(other.descriptor_, -1)} {}

Arena::~Arena() {
  if (base_ != nullptr) ::munmap(base_, parts_ * kArenaPart);
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Arena::holds(std::int64_t offset, std::size_t bytes) const {
  const std::uint64_t end = parts_ * kArenaPart;
  return offset > 0 && static_cast<std::uint64_t>(offset) < end &&
         bytes <= end - static_cast<std::uint64_t>(offset);
}

ArenaHeap::ArenaHeap(Arena& arena, std::uint32_t part)
    : arena_{arena},
      end_{static_cast<std::int64_t>(part * kArenaPart + kPage)},
      limit_{static_cast<std::int64_t>((part + 1) * kArenaPart)} {}

void* ArenaHeap::allocate(std::size_t bytes, std::size_t zeroed) {
  // Powers of two and the steps between keep sizes few, so that blocks fit again.
  std::uint64_t size = rounded(bytes + sizeof(Block), kUnit);
  if (size > kPage) {
    std::uint64_t step = kPage;
    while (step * 8 < size) step *= 2;
    size = rounded(size, step);
  }
  if (live_.size() >= next_collection_) collect();
  Block* block = take(size);
  block->users.store(1, std::memory_order_relaxed);
  live_.push_back(block);
  in_use_ += block->size;
  auto* const memory = reinterpret_cast<std::byte*>(block) + sizeof(Block);
  std::memset(memory, 0, zeroed);
  return memory;
}

Block* ArenaHeap::take(std::uint64_t size) {
  if (size <= kSmall && !free_small_[size / kUnit].empty()) {
    Block* const block = free_small_[size / kUnit].back();
    free_small_[size / kUnit].pop_back();
    return block;
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto found = free_.lower_bound(size);
    if (found != free_.end() && found->first < 2 * size) {
      Block* const block = found->second;
      free_.erase(found);
      return block;
    }
    // Before a large allocation it pays to look whether an earlier one has come back.
    if (attempt == 0 && size < kLarge) break;
    if (attempt == 0) collect();
  }
  if (static_cast<std::int64_t>(size) > limit_ - end_) throw std::bad_alloc{};
  Block* const block = new (arena_.at(end_)) Block{};
  block->size = size;
  end_ += static_cast<std::int64_t>(size);
  return block;
}

void ArenaHeap::collect() {
  std::size_t kept = 0;
  for (Block* const block : live_) {
    if (block->users.load(std::memory_order_acquire) != 0) {
      live_[kept++] = block;
      continue;
    }
    in_use_ -= block->size;
    if (block->size <= kSmall) {
      free_small_[block->size / kUnit].push_back(block);
    } else {
      free_.emplace(block->size, block);
    }
  }
  live_.resize(kept);
  next_collection_ = 2 * kept + 64;
  std::uint64_t idle = 0;
  for (auto& [size, block] : free_) {
    if (size < kLarge) continue;
    idle += size;
    if (idle <= kIdleBytes) continue;
    // All whole pages after the header's.
    const auto begin = static_cast<std::int64_t>(
        rounded(static_cast<std::uint64_t>(arena_.offset_of(block)) + sizeof(Block), kPage));
    const std::int64_t end = arena_.offset_of(block) + static_cast<std::int64_t>(size);
    ::madvise(arena_.at(begin), static_cast<std::size_t>(end - begin) / kPage * kPage, MADV_REMOVE);
    idle -= size;
  }
}

}  // namespace orrery::live
