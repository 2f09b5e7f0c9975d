// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What torch's core asks of CUDA: whether it is there, random numbers, pinned memory.
#include <mutex>
#include <unordered_set>

#include "streams.hpp"

namespace orrery::live::cuda {

/// A generator of the device: the CPU's algorithm with a state of its own, so that seeds mean the same everywhere.
class Generator final : public c10::GeneratorImpl {
 public:
  explicit Generator(DeviceIndex device, std::uint64_t seed = c10::detail::getNonDeterministicRandom())
      : c10::GeneratorImpl{Device{c10::kCUDA, device}, c10::DispatchKeySet{c10::DispatchKey::CUDA}},
        host_{at::make_generator<at::CPUGeneratorImpl>(seed)} {}

  [[nodiscard]] const at::Generator& host() const { return host_; }
  void set_current_seed(std::uint64_t seed) override { host_.set_current_seed(seed); }
  void set_offset(std::uint64_t /*offset*/) override {
    TORCH_CHECK(false, "orrery --device-map: set_offset() of a CUDA generator is not simulated");
  }
  std::uint64_t get_offset() const override {
    TORCH_CHECK(false, "orrery --device-map: get_offset() of a CUDA generator is not simulated");
  }
  std::uint64_t current_seed() const override { return host_.current_seed(); }
  std::uint64_t seed() override { return host_.seed(); }
  void set_state(const c10::TensorImpl& state) override { host_.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return host_.unsafeGetGeneratorImpl()->get_state();
  }

 private:
  GeneratorImpl* clone_impl() const override {
    auto copy = c10::make_intrusive<Generator>(device().index());
    copy->host_ = host_.clone();
    return copy.release();
  }
  at::Generator host_;
};

inline const at::Generator& default_generator(DeviceIndex device) {
  static auto* generators = [] {
    auto* made = new std::vector<at::Generator>;
    for (DeviceIndex i = 0; i < kMostDevices; ++i) {
      made->push_back(at::make_generator<Generator>(i, c10::default_rng_seed_val));
    }
    return made;
  }();
  return generators->at(static_cast<std::size_t>(checked(device)));
}

/// Memory that the program has pinned: the host's, by address, so that is_pinned() can tell.
class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    auto* const held = new c10::DataPtr{c10::GetCPUAllocator()->allocate(bytes)};
    const std::lock_guard lock{mutex_};
    pinned_.insert(held->get());
    return {held->get(), held, &free, c10::Device{c10::kCPU}};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* target, const void* source, std::size_t count) const override {
    default_copy_data(target, source, count);
  }
  bool holds(const void* address) {
    const std::lock_guard lock{mutex_};
    return pinned_.contains(address);
  }
  static PinnedAllocator& instance() {
    static auto* allocator = new PinnedAllocator;
    return *allocator;
  }

 private:
  static void free(void* context) {
    auto* const held = static_cast<c10::DataPtr*>(context);
    {
      const std::lock_guard lock{instance().mutex_};
      instance().pinned_.erase(held->get());
    }
    delete held;
  }
  std::mutex mutex_;
  std::unordered_set<const void*> pinned_;
};

class Hooks final : public at::CUDAHooksInterface {
 public:
  explicit Hooks(at::CUDAHooksArgs /*arguments*/) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasCUDA() const override { return true; }
  bool hasCUDART() const override { return true; }
  bool hasPrimaryContext(DeviceIndex /*device*/) const override { return true; }
  DeviceIndex deviceCount() const override { return static_cast<DeviceIndex>(device_count.load()); }
  int getNumGPUs() const override { return device_count; }
  DeviceIndex current_device() const override { return this_device; }
  DeviceIndex getCurrentDevice() const override { return this_device; }
  void setCurrentDevice(DeviceIndex device) const override { Guard{}.setDevice({c10::kCUDA, device}); }
  DeviceIndex exchangeDevice(DeviceIndex device) const override {
    return Guard{}.exchangeDevice({c10::kCUDA, device}).index();
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex device) const override {
    return device < 0 ? this_device : exchangeDevice(device);
  }
  const at::Generator& getDefaultGenerator(DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(DeviceIndex device) const override {
    return at::make_generator<Generator>(checked(device), c10::default_rng_seed_val);
  }
  bool isPinnedPtr(const void* data) const override { return PinnedAllocator::instance().holds(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &PinnedAllocator::instance(); }
  c10::Allocator* getCUDADeviceAllocator() const override { return &DeviceAllocator::instance(); }
  Device getDeviceFromPtr(void* /*data*/) const override { return {c10::kCUDA, this_device}; }
  void deviceSynchronize(DeviceIndex device) const override { Guard{}.synchronizeDevice(device); }
};

}  // namespace orrery::live::cuda
