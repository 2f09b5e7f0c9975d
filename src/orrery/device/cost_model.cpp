// SPDX-License-Identifier: Apache-2.0
#include "orrery/device/cost_model.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace orrery::device {
namespace {

/// Rounded up; a duration is never negative, and far below 2^63.
std::int64_t whole_ps(double picoseconds) {
  constexpr double kLimit = 9e18;
  const double bounded = std::min(std::max(picoseconds, 0.0), kLimit);
  const auto whole = static_cast<std::int64_t>(bounded);
  return whole + (static_cast<double>(whole) < bounded ? 1 : 0);
}

template <class T>
void put(std::string& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T take(std::string_view& bytes) {
  if (bytes.size() < sizeof(T)) throw std::length_error{"the image of a device is cut off"};
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

}  // namespace

CostModel::CostModel(const Rates& rates, OperatorTable table) : rates_{rates}, table_{std::move(table)} {}

const Series* CostModel::find(const Operator& op) const {
  if (table_.empty()) return nullptr;
  const std::string_view plain = op.family.substr(0, op.family.find('@'));
  const std::string_view of_class = kClassNames[static_cast<std::size_t>(op.kind)];
  for (const std::string_view name : {op.name, op.family, plain, of_class}) {
    const Series* const found = table_.find(name, op.type);
    if (found != nullptr && found->points.front().axes.count == op.axes.count) return found;
  }
  return nullptr;
}

Estimate CostModel::estimate(const Series& series, const Axes& axes) {
  std::uint64_t key = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t value) {
    key = (key ^ value) * 0x100000001b3;
    key ^= key >> 29;
  };
  add(static_cast<std::uint64_t>(&series - table_.series().data()));
  for (std::size_t i = 0; i < axes.count; ++i) add(static_cast<std::uint64_t>(axes[i]));
  const auto [found, is_new] = estimates_.try_emplace(key);
  if (is_new) found->second = interpolate(series, axes, rates_);
  return found->second;
}

Cost CostModel::cost(const Operator& op) {
  Cost cost{.host_ps = rates_.host_ps};
  if (op.kind == OperatorClass::kView) return cost;
  if (op.kind == OperatorClass::kWait) {
    cost.waits = true;
    return cost;
  }
  const double previous_elements = std::exchange(fused_elements_, 0);
  Work work = op.work;
  std::int64_t launches = rates_.is_asynchronous ? 1 : op.launches;
  if (op.kind == OperatorClass::kElementwise && rates_.fuses) {
    fused_elements_ = static_cast<double>(op.axes[0]);
    if (fused_elements_ == previous_elements) {
      // One kernel with the operator before: what that wrote is neither written nor read.
      launches = 0;
      work.bytes = std::max(work.bytes - 2 * fused_bytes_, 0.0);
    }
    fused_bytes_ = op.output_bytes;
  }
  const double ideal = roofline_ps(work, op.kind, op.type, rates_);
  const Series* const series = launches > 0 ? find(op) : nullptr;
  if (series != nullptr) {
    const Estimate found = estimate(*series, op.axes);
    cost.device_ps = whole_ps(found.duration_ps);
    cost.source = found.is_extrapolated ? CostSource::kExtrapolated : CostSource::kTable;
    return cost;
  }
  cost.device_ps = whole_ps(ideal) + launches * rates_.launch_ps;
  cost.source = op.is_known ? CostSource::kRoofline : CostSource::kUnknown;
  return cost;
}

std::string CostModel::to_image() const {
  std::string bytes;
  put(bytes, rates_);
  put(bytes, static_cast<std::uint64_t>(table_.series().size()));
  for (const Series& series : table_.series()) {
    put(bytes, static_cast<std::uint64_t>(series.name.size()));
    bytes += series.name;
    put(bytes, series.type);
    put(bytes, series.kind);
    put(bytes, static_cast<std::uint64_t>(series.points.size()));
    for (const Point& point : series.points) put(bytes, point);
  }
  return bytes;
}

CostModel CostModel::from_image(std::string_view bytes) {
  const auto rates = take<Rates>(bytes);
  OperatorTable table;
  for (auto left = take<std::uint64_t>(bytes); left > 0; --left) {
    const auto size = take<std::uint64_t>(bytes);
    if (size > bytes.size()) throw std::length_error{"the image of a device is cut off"};
    const std::string name{bytes.substr(0, size)};
    bytes.remove_prefix(size);
    const auto type = take<DataType>(bytes);
    const auto kind = take<OperatorClass>(bytes);
    for (auto points = take<std::uint64_t>(bytes); points > 0; --points) {
      table.add(name, type, kind, take<Point>(bytes));
    }
  }
  return {rates, std::move(table)};
}

}  // namespace orrery::device
