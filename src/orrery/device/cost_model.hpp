// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Operators to durations on one device: by its table where that has the operator, else by its roofline. Standard
/// library only. Deterministic to the picosecond on every machine.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "orrery/device/operator_table.hpp"
#include "orrery/device/rates.hpp"

namespace orrery::device {

/// How a duration came about.
enum class CostSource : std::uint8_t { kFree, kTable, kExtrapolated, kRoofline, kUnknown };

struct Cost {
  std::int64_t device_ps = 0;  ///< On the device.
  std::int64_t host_ps = 0;    ///< On the host, in front of it.
  bool waits = false;          ///< The host then waits for the device.
  CostSource source = CostSource::kFree;
};

class CostModel {
 public:
  CostModel() = default;
  CostModel(const Rates& rates, OperatorTable table);

  /// Operators come in the order of the program: a device that fuses looks at the one before.
  [[nodiscard]] Cost cost(const Operator& op);
  [[nodiscard]] const Rates& rates() const { return rates_; }
  [[nodiscard]] const OperatorTable& table() const { return table_; }

  /// As bytes, for the processes of a run; the same build reads and writes them.
  [[nodiscard]] std::string to_image() const;
  /// std::length_error when the bytes are not whole.
  [[nodiscard]] static CostModel from_image(std::string_view bytes);

 private:
  [[nodiscard]] const Series* find(const Operator& op) const;
  /// Programs repeat themselves; interpolating takes microseconds.
  [[nodiscard]] Estimate estimate(const Series& series, const Axes& axes);

  Rates rates_;
  OperatorTable table_;
  std::unordered_map<std::uint64_t, Estimate> estimates_;
  double fused_elements_ = 0;  ///< Of the elementwise operator just before; 0 = none.
  double fused_bytes_ = 0;     ///< Its result.
};

}  // namespace orrery::device
