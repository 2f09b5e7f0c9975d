// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Devices, streams and events, as torch asks for them. A stream is a queue of the rank library; an event is the time
/// at which the work that was on its stream will have ended. The clocks are there.
#include <array>
#include <atomic>
#include <mutex>

#include "memory.hpp"

namespace orrery::live::cuda {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;
using c10::StreamId;

inline std::atomic<int> device_count{1};
inline thread_local DeviceIndex this_device = 0;
inline thread_local std::array<StreamId, kMostDevices> this_stream{};
inline std::atomic<StreamId> streams_made{0};

inline int present_device() { return this_device; }

inline std::uint64_t queue_of(const Stream& stream) {
  return static_cast<std::uint64_t>(stream.device_index()) << 32 | static_cast<std::uint32_t>(stream.id());
}

inline DeviceIndex checked(DeviceIndex device) {
  TORCH_CHECK(device >= -1 && device < device_count, "CUDA error: invalid device ordinal ",
              static_cast<int>(device), "; the simulated host has ", device_count.load(),
              " (cuda:0 to cuda:", device_count.load() - 1, ")");
  return device < 0 ? this_device : device;
}

struct Event {
  std::int64_t time_ps = 0;
  bool is_timed = false;
};

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::kCUDA; }
  Device exchangeDevice(Device device) const override {
    const DeviceIndex before = this_device;
    set(device);
    return {c10::kCUDA, before};
  }
  Device getDevice() const override { return {c10::kCUDA, this_device}; }
  void setDevice(Device device) const override { set(device); }
  void uncheckedSetDevice(Device device) const noexcept override {
    if (device.index() >= 0 && device.index() < kMostDevices) select(device.index());
  }
  /// Of the autograd engine's threads, too: none, as backward runs on the thread that called it.
  DeviceIndex deviceCount() const noexcept override {
    return has_engine_threads() ? 0 : static_cast<DeviceIndex>(device_count.load());
  }

  Stream getStream(Device device) const override {
    const DeviceIndex index = checked(device.index());
    return make(index, this_stream[static_cast<std::size_t>(index)]);
  }
  Stream getDefaultStream(Device device) const override { return make(checked(device.index()), 0); }
  Stream getStreamFromGlobalPool(Device device, bool /*is_urgent*/) const override {
    return getNewStream(device, 0);
  }
  Stream getNewStream(Device device, int /*priority*/) const override {
    return make(checked(device.index()), ++streams_made);
  }
  Stream exchangeStream(Stream stream) const override {
    const auto index = static_cast<std::size_t>(stream.device_index());
    const Stream before = make(stream.device_index(), this_stream[index]);
    this_stream[index] = stream.id();
    if (stream.device_index() == this_device) orrery_queue_select(queue_of(stream));
    return before;
  }
  bool queryStream(const Stream& stream) const override {
    return orrery_queue_end(queue_of(stream)) <= orrery_now();
  }
  void synchronizeStream(const Stream& stream) const override {
    orrery_queue_reach(orrery_queue_end(queue_of(stream)));
  }
  void synchronizeDevice(DeviceIndex /*device*/) const override {
    orrery_queue_reach(orrery_queue_end(ORRERY_QUEUE_ALL));
  }

  void record(void** event, const Stream& stream, DeviceIndex /*device*/,
              c10::EventFlag flag) const override {
    if (*event == nullptr) *event = new Event;
    auto& what = *static_cast<Event*>(*event);
    what.time_ps = orrery_queue_end(queue_of(stream));
    what.is_timed = flag == c10::EventFlag::BACKEND_DEFAULT;
  }
  void block(void* event, const Stream& stream) const override {
    if (event != nullptr) orrery_queue_await(queue_of(stream), static_cast<Event*>(event)->time_ps);
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || static_cast<Event*>(event)->time_ps <= orrery_now();
  }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) orrery_queue_reach(static_cast<Event*>(event)->time_ps);
  }
  void destroyEvent(void* event, DeviceIndex /*device*/) const noexcept override {
    delete static_cast<Event*>(event);
  }
  double elapsedTime(void* first, void* second, DeviceIndex /*device*/) const override {
    TORCH_CHECK(first != nullptr && second != nullptr,
                "Both events must be recorded before calculating elapsed time.");
    const auto& from = *static_cast<Event*>(first);
    const auto& to = *static_cast<Event*>(second);
    return static_cast<double>(to.time_ps - from.time_ps) * 1e-9;
  }

 private:
  static Stream make(DeviceIndex device, StreamId id) {
    return Stream{Stream::UNSAFE, Device{c10::kCUDA, device}, id};
  }
  static void set(Device device) { select(checked(device.index())); }
  static void select(DeviceIndex index) {
    if (index == this_device) return;
    this_device = index;
    orrery_queue_select(queue_of(make(index, this_stream[static_cast<std::size_t>(index)])));
  }
  static bool has_engine_threads();
};

/// Set while the autograd engine counts devices to start a thread for each.
inline std::atomic<bool> is_engine_starting{false};
inline bool Guard::has_engine_threads() { return is_engine_starting; }

/// Times of DDP's own statistics.
class Timer final : public c10d::Timer {
 public:
  explicit Timer(c10::Device /*device*/) {}
  std::optional<std::int64_t> measureDifference(Event start, Event end) override {
    const std::int64_t from = getTimeRef(start);
    const std::int64_t to = getTimeRef(end);
    if (from == c10d::kUnsetTime || to == c10d::kUnsetTime) return std::nullopt;
    return to - from;
  }
};

}  // namespace orrery::live::cuda
