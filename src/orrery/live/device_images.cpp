// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/device_images.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "orrery/base/error.hpp"
#include "orrery/device/read_table.hpp"

namespace orrery::live {
namespace {

using device::DataType;

/// The first rate that is said.
double first_of(std::initializer_list<Flops> rates) {
  for (const Flops rate : rates) {
    if (rate.per_second > 0) return rate.per_second;
  }
  return 0;
}

std::array<double, device::kCostedClasses> shares_of(const topology::EfficiencySpec& spec) {
  return {spec.gemm,   spec.attention, spec.conv,      spec.elementwise, spec.reduction,
          spec.memory, spec.embedding, spec.optimizer, spec.other};
}

double bytes_per_second(Bandwidth bandwidth) { return static_cast<double>(bandwidth.bits_per_second()) / 8; }

}  // namespace

device::Rates rates_of(const topology::DeviceSpec& device) {
  device::Rates rates;
  const topology::PeakSpec& peaks = device.peaks;
  const auto set = [&](DataType type, std::initializer_list<Flops> said) {
    rates.peak[static_cast<std::size_t>(type)] = first_of(said);
  };
  set(DataType::kFp64, {peaks.fp64, peaks.fp32, device.peak});
  set(DataType::kFp32, {peaks.fp32, device.peak});
  set(DataType::kTf32, {peaks.tf32, peaks.fp32, device.peak});
  set(DataType::kFp16, {peaks.fp16, peaks.bf16, device.peak});
  set(DataType::kBf16, {peaks.bf16, peaks.fp16, device.peak});
  set(DataType::kFp8, {peaks.fp8, peaks.bf16, peaks.fp16, device.peak});
  set(DataType::kInt8, {peaks.int8, peaks.fp8, peaks.fp16, device.peak});
  rates.bandwidth = bytes_per_second(device.memory_bandwidth);
  rates.cache = static_cast<double>(device.cache.count());
  rates.cache_bandwidth = bytes_per_second(device.cache_bandwidth);
  rates.compute_efficiency = shares_of(device.compute_efficiency);
  rates.memory_efficiency = shares_of(device.memory_efficiency);
  rates.launch_ps = count_ps(device.launch_overhead);
  rates.host_ps = count_ps(device.host_overhead);
  rates.memory = device.memory.count();
  rates.is_asynchronous = device.is_asynchronous;
  rates.fuses = device.fuses_elementwise;
  return rates;
}

device::CostModel cost_model_of(const topology::DeviceSpec& device, bool has_table) {
  const device::Rates rates = rates_of(device);
  const std::string name = device.name.empty() ? "of this cluster" : fmt::format("'{}'", device.name);
  if (std::ranges::all_of(rates.peak, [](double peak) { return peak <= 0; })) {
    throw InputError{fmt::format("device {} does not say its peak, which --compute model needs", name)};
  }
  if (rates.bandwidth <= 0) {
    throw InputError{
        fmt::format("device {} does not say its memory_bandwidth, which --compute model needs", name)};
  }
  if (device.operators.empty() || !has_table) return {rates, {}};
  return {rates, device::read_table(device.operators)};
}

DeviceImages::~DeviceImages() {
  for (const int descriptor : descriptors_) ::close(descriptor);
}

void DeviceImages::add(const device::CostModel& model) {
  const int descriptor = ::memfd_create("orrery-device", MFD_CLOEXEC);
  if (descriptor < 0) throw InputError{fmt::format("memfd_create: {}", std::strerror(errno))};
  descriptors_.push_back(descriptor);
  const std::string image = model.to_image();
  for (std::size_t done = 0; done < image.size();) {
    const ssize_t count = ::write(descriptor, image.data() + done, image.size() - done);
    if (count < 0 && errno != EINTR) {
      throw InputError{fmt::format("the model of a device: {}", std::strerror(errno))};
    }
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

}  // namespace orrery::live
