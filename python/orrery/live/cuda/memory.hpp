// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory of the simulated devices: really the host's, counted per device as CUDA's allocator counts it, and
/// limited to what the device of the cluster file has.
#include <sys/mman.h>

#include <array>

#include "torch.hpp"

namespace orrery::live::cuda {

inline constexpr int kMostDevices = 64;
inline constexpr std::int64_t kBlock = 512;  ///< CUDA's allocator rounds to this.

/// Bytes of one device.
struct MemoryCount {
  std::int64_t now = 0;
  std::int64_t peak = 0;
  std::int64_t reserved_peak = 0;  ///< Since the cache was emptied; what is freed stays in the cache.
  std::int64_t allocations = 0;
  std::int64_t frees = 0;
};

class Memory {
 public:
  static Memory& instance() {
    static auto* memory = new Memory;  // Never destroyed: tensors outlive everything.
    return *memory;
  }

  void set_limit(std::int64_t bytes) { limit_ = bytes; }
  [[nodiscard]] std::int64_t limit() const { return limit_; }
  MemoryCount& of(int device) { return counts_.at(static_cast<std::size_t>(device)); }

  /// Throws torch.OutOfMemoryError where the real device would be full.
  void check(int device, std::int64_t bytes) {
    const MemoryCount& count = of(device);
    const std::int64_t rounded = round(bytes);
    if (limit_ > 0 && count.now + rounded > limit_) {
      TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", text(rounded),
                       ". GPU ", device, " has a total capacity of ", text(limit_), " of which ",
                       text(limit_ - count.now), " is free (simulated device of the cluster file).");
    }
  }
  void add(int device, std::int64_t bytes) {
    check(device, bytes);
    MemoryCount& count = of(device);
    count.now += round(bytes);
    ++count.allocations;
    if (count.now > count.peak) count.peak = count.now;
    if (count.now > count.reserved_peak) count.reserved_peak = count.now;
  }
  void remove(int device, std::int64_t bytes) {
    MemoryCount& count = of(device);
    count.now -= round(bytes);
    ++count.frees;
  }

 private:
  static std::int64_t round(std::int64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }
  static std::string text(std::int64_t bytes) {
    constexpr double kMiB = 1 << 20;
    char line[48];
    const double size = static_cast<double>(bytes) / kMiB;
    std::snprintf(line, sizeof line, size < 1024 ? "%.2f MiB" : "%.2f GiB", size < 1024 ? size : size / 1024);
    return line;
  }

  std::int64_t limit_ = 0;  ///< 0: none.
  std::array<MemoryCount, kMostDevices> counts_{};
};

/// `--compute fake`: tensors of the devices have sizes and addresses, and no memory behind them.
inline bool is_fake = false;
/// What is copied from a device leaves the host's tensor as it is, where that is known to have the same values.
inline bool keeps_host_values = false;

/// An address that nobody may look at: from a part of the address space without access, over and over again.
inline void* fake_address(std::size_t bytes) {
  constexpr std::size_t kSpace = std::size_t{1} << 45;
  static char* const space = [] {
    void* const made = ::mmap(nullptr, kSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TORCH_CHECK(made != MAP_FAILED, "orrery --compute fake: no room in this process's address space");
    return static_cast<char*>(made);
  }();
  static std::size_t used = 0;
  const std::size_t size = (bytes + kBlock - 1) / kBlock * kBlock;
  if (used + size > kSpace) used = 0;
  return space + std::exchange(used, used + size);
}

inline c10::DataPtr host_memory(std::size_t bytes) {
  if (!is_fake) return c10::GetCPUAllocator()->allocate(bytes);
  return {bytes == 0 ? nullptr : fake_address(bytes), c10::Device{c10::kCPU}};
}

/// Host memory that counts as a device's until it is freed.
struct Holder {
  c10::DataPtr memory;
  int device;
  std::int64_t bytes;
};

inline void free_holder(void* context) {
  auto* const holder = static_cast<Holder*>(context);
  Memory::instance().remove(holder->device, holder->bytes);
  delete holder;
}

/// The same memory as memory of the device.
inline c10::DataPtr on_device(c10::DataPtr memory, int device, std::int64_t bytes) {
  Memory::instance().add(device, bytes);
  void* const address = memory.get();
  auto* const holder = new Holder{std::move(memory), device, bytes};
  return {address, holder, &free_holder, c10::Device{c10::kCUDA, static_cast<c10::DeviceIndex>(device)}};
}

int present_device();

class DeviceAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    Memory::instance().check(present_device(),
                             static_cast<std::int64_t>(bytes));  // Before this host's memory is.
    return on_device(host_memory(bytes), present_device(), static_cast<std::int64_t>(bytes));
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* target, const void* source, std::size_t count) const override {
    default_copy_data(target, source, count);
  }
  static DeviceAllocator& instance() {
    static auto* allocator = new DeviceAllocator;
    return *allocator;
  }
};

}  // namespace orrery::live::cuda
