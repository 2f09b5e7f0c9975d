// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a device's host spends on operations beside the network: copies, new pages, threads that hand over. By
/// operation and size, and by how long the rank has not communicated: threads have slept, and what they use has left
/// the caches. As `orrery calibrate` measures it.
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/units.hpp"
#include "orrery/config/spec.hpp"

namespace orrery::topology {

struct CostPoint {
  Bytes size;  ///< The whole buffer.
  Duration time{};
  bool operator==(const CostPoint&) const = default;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("size", &CostPoint::size, "The whole buffer of the operation.", config::Rule{.required = true});
    field("time", &CostPoint::time, "Processor time of such a call.", config::Rule{.required = true});
  }
};

struct WakePoint {
  Duration idle{};  ///< Since the rank's last operation.
  Duration time{};
  Duration per_mib{};  ///< And for each MiB of its buffer, up to kColdest: it has left the caches.
  bool operator==(const WakePoint&) const = default;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("idle", &WakePoint::idle, "Since the rank's last operation.", config::Rule{.required = true});
    field("time", &WakePoint::time, "How much longer a call takes then.", config::Rule{.required = true});
    field("per_mib", &WakePoint::per_mib, "And for each MiB of its buffer, of the first 4.");
  }
};

/// Ascending sizes, or times.
using CostCurve = std::vector<CostPoint>;
using WakeCurve = std::vector<WakePoint>;

template <class Curve>
struct PerOperation {
  Curve all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather, scatter, barrier, send_recv;
  bool operator==(const PerOperation&) const = default;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("all_reduce", &PerOperation::all_reduce, "Of all_reduce.");
    field("all_gather", &PerOperation::all_gather, "Of all_gather.");
    field("reduce_scatter", &PerOperation::reduce_scatter, "Of reduce_scatter.");
    field("all_to_all", &PerOperation::all_to_all, "Of all_to_all.");
    field("broadcast", &PerOperation::broadcast, "Of broadcast.");
    field("reduce", &PerOperation::reduce, "Of reduce.");
    field("gather", &PerOperation::gather, "Of gather.");
    field("scatter", &PerOperation::scatter, "Of scatter.");
    field("barrier", &PerOperation::barrier, "Of barrier.");
    field("send_recv", &PerOperation::send_recv, "Of a message, at its sender.");
  }
};
using OperationCosts = PerOperation<CostCurve>;
using WakeCosts = PerOperation<WakeCurve>;

/// Straight lines between the points; the first one's time below it, the last line's slope (never downwards) beyond.
/// Zero without points.
[[nodiscard]] Duration cost_at(const CostCurve& curve, Bytes size);
/// Larger buffers are in no cache after an operation either.
inline constexpr Bytes kColdest{4 << 20};
/// Straight lines between the points; the first one's time below it, the last one's beyond. Zero without points.
[[nodiscard]] Duration wake_at(const WakeCurve& curve, Duration idle, Bytes size = {});

/// The curve by the operation's name; null when there is no such operation.
template <class Curve>
[[nodiscard]] const Curve* find_curve(const PerOperation<Curve>& costs, std::string_view operation) {
  const Curve* found = nullptr;
  PerOperation<Curve>::fields([&](const char* name, auto member, const char*) {
    if (operation == name) found = &(costs.*member);
  });
  return found;
}
template <class Curve>
[[nodiscard]] Curve* find_curve(PerOperation<Curve>& costs, std::string_view operation) {
  return const_cast<Curve*>(find_curve(std::as_const(costs), operation));
}

}  // namespace orrery::topology
