// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A device as a file describes it: the fields of DeviceSpec, all optional, on top of another device.
#include "orrery/config/spec.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::topology {

struct DeviceFields : DeviceSpec {
  std::string base;  ///< Catalogue or file-local device whose values hold unless given here.
  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    field("base", &DeviceFields::base, "Device whose values hold where none is given here.");
    value_fields(field);
  }
  /// The fields that describe the device itself.
  template <class Visitor>
  static void value_fields(Visitor&& field) {
    using config::Rule;
    field("peak", &DeviceFields::peak, "Dense 16-bit rate.", Rule{.positive = true});
    field("memory_bandwidth", &DeviceFields::memory_bandwidth, "Of the device's own memory.",
          Rule{.positive = true});
    field("memory", &DeviceFields::memory, "Size of the device's own memory.", Rule{.positive = true});
    field("compute_scale", &DeviceFields::compute_scale,
          "Time measured on this host times this is device time.", Rule{.min = 1e-6, .max = 1e6});
    field("send_overhead", &DeviceFields::send_overhead, "Processor time per message sent.");
    field("receive_overhead", &DeviceFields::receive_overhead, "Processor time per message received.");
    field("reduce_bandwidth", &DeviceFields::reduce_bandwidth, "Bytes reduced per second; absent = free.",
          Rule{.positive = true});
    field("operation_overhead", &DeviceFields::operation_overhead,
          "Processor time of a collective call: handing it to a thread and being woken.");
    field("copy_bandwidth", &DeviceFields::copy_bandwidth,
          "Bytes per second of the buffers that gloo gathers through; absent = free.",
          Rule{.positive = true});
    field("operation_costs", &DeviceFields::operation_costs,
          "Processor time of gloo's calls by operation and size (orrery calibrate).");
    field("wake_costs", &DeviceFields::wake_costs,
          "How much longer a call takes when the rank has not communicated for a while.");
    field("alone_costs", &DeviceFields::alone_costs,
          "Time of gloo's calls in a group of one rank, by operation and size; absent: as in any group.");
    field("overlap_costs", &DeviceFields::overlap_costs,
          "Processor time that a call under way takes from a rank that computes meanwhile, by operation and size.");
    field("notice_costs", &DeviceFields::notice_costs,
          "How much later than another a rank comes to gloo's all_to_all or all_gather before the directions follow "
          "each other, by size.");
    field("send_buffer", &DeviceFields::send_buffer,
          "Bytes that a connection takes from a sender at once, so that its call of gloo is over before they arrive.");
    field("remote_bandwidth", &DeviceFields::remote_bandwidth,
          "Of memory outside the device, which traces load from and store to.", Rule{.positive = true});
    field("remote_latency", &DeviceFields::remote_latency, "Of one load or store of such memory.");
    field("peaks", &DeviceFields::peaks, "Dense rates by element type; `peak` where none is given.");
    field("compute_efficiency", &DeviceFields::compute_efficiency,
          "Share of the peak that large operators reach, by class.");
    field("memory_efficiency", &DeviceFields::memory_efficiency,
          "Share of the memory bandwidth that large operators reach, by class.");
    field("cache", &DeviceFields::cache, "Operators that touch no more run at cache_bandwidth.");
    field("cache_bandwidth", &DeviceFields::cache_bandwidth, "Of the cache; absent = no such cache.");
    field("launch_overhead", &DeviceFields::launch_overhead, "Of every kernel, on the device.");
    field("host_overhead", &DeviceFields::host_overhead,
          "Of every operator, on the host: Python, dispatch, launch.");
    field("asynchronous", &DeviceFields::is_asynchronous, "The host only launches, as with GPUs.");
    field("fuses_elementwise", &DeviceFields::fuses_elementwise,
          "Consecutive elementwise operators run as one kernel.");
    field("operators", &DeviceFields::operators, "File of profiled operators (orrery profile-ops).");
  }
};

/// Reads into `spec` the fields that are present; the others keep their value.
template <class Spec>
void read_over(const config::Cursor& at, Spec& spec) {
  at.expect_keys(config::field_names<Spec>());
  Spec::fields([&](const char* name, auto member, const char*, const config::Rule& rule = {}) {
    using T = std::remove_cvref_t<decltype(spec.*member)>;
    if (!at.has(name)) return;
    if constexpr (config::HasFields<T>) {
      read_over(at.at(name), spec.*member);  // What it does not say stays, too.
    } else {
      spec.*member = config::Codec<T>::read(at.at(name), rule);
    }
  });
}

/// Reads the device at `at` over `fields`. A file that it names lies beside the one that names it.
void read_device(const config::Cursor& at, DeviceFields& fields);

}  // namespace orrery::topology
