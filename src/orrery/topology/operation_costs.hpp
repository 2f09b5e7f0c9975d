// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a device's host spends on operations beside the network: copies, new pages, threads that hand over. By
/// operation and size, as `orrery calibrate` measures it.
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

/// Ascending sizes.
using CostCurve = std::vector<CostPoint>;

struct OperationCosts {
  CostCurve all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather, scatter, barrier,
      send_recv;
  bool operator==(const OperationCosts&) const = default;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("all_reduce", &OperationCosts::all_reduce, "Of all_reduce.");
    field("all_gather", &OperationCosts::all_gather, "Of all_gather.");
    field("reduce_scatter", &OperationCosts::reduce_scatter, "Of reduce_scatter.");
    field("all_to_all", &OperationCosts::all_to_all, "Of all_to_all.");
    field("broadcast", &OperationCosts::broadcast, "Of broadcast.");
    field("reduce", &OperationCosts::reduce, "Of reduce.");
    field("gather", &OperationCosts::gather, "Of gather.");
    field("scatter", &OperationCosts::scatter, "Of scatter.");
    field("barrier", &OperationCosts::barrier, "Of barrier.");
    field("send_recv", &OperationCosts::send_recv, "Of a message, at its sender.");
  }
};

/// Straight lines between the points; the first one's time below it, the last line's slope (never downwards) beyond.
/// Zero without points.
[[nodiscard]] Duration cost_at(const CostCurve& curve, Bytes size);

/// The curve by the operation's name; null when there is no such operation.
[[nodiscard]] CostCurve* find_curve(OperationCosts& costs, std::string_view operation);
[[nodiscard]] const CostCurve* find_curve(const OperationCosts& costs, std::string_view operation);

}  // namespace orrery::topology
