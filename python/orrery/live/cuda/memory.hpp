// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory of the simulated devices: really the host's, counted per device as CUDA's allocator counts it, and
/// limited to what the device of the cluster file has.
#include <sys/mman.h>

#include "memory_count.hpp"

namespace orrery::live::cuda {

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
  const auto size = static_cast<std::size_t>(round_to_blocks(static_cast<std::int64_t>(bytes)));
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
  MemoryBlock block;
};

inline void free_holder(void* context) {
  auto* const holder = static_cast<Holder*>(context);
  Memory::instance().remove(holder->block);
  delete holder;
}

/// What a storage's memory counts as; null where it is no memory of a device.
inline MemoryBlock* block_of(const c10::Storage& storage) {
  if (!storage || storage.data_ptr().get_deleter() != &free_holder) return nullptr;
  return &static_cast<Holder*>(storage.data_ptr().get_context())->block;
}

inline void mark(const at::Tensor& tensor, Part part) {
  if (!tensor.defined() || !tensor.is_cuda() || !tensor.has_storage()) return;
  if (MemoryBlock* const block = block_of(tensor.storage())) Memory::instance().mark(*block, part);
}

/// What is made from now on, until this ends, is for `part`.
class PartScope {
 public:
  explicit PartScope(Part part) : before_{std::exchange(present_part, part)} {}
  ~PartScope() { present_part = before_; }
  PartScope(const PartScope&) = delete;
  PartScope& operator=(const PartScope&) = delete;

 private:
  Part before_;
};

/// The same memory as memory of the device.
inline c10::DataPtr on_device(c10::DataPtr memory, int device, std::int64_t bytes) {
  void* const address = memory.get();
  auto holder = std::make_unique<Holder>(
      Holder{std::move(memory), {.device = device, .part = present_part, .bytes = round_to_blocks(bytes)}});
  Memory::instance().add(holder->block);
  return {address, holder.release(), &free_holder,
          c10::Device{c10::kCUDA, static_cast<c10::DeviceIndex>(device)}};
}

int present_device();

class DeviceAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const auto size = static_cast<std::int64_t>(bytes);
    Memory::instance().check(present_device(), round_to_blocks(size));  // Before this host's memory is.
    return on_device(host_memory(bytes), present_device(), size);
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
