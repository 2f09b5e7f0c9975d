// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Files of profiled operators: lines "operator,dtype,sizes,time", such as "gemm,bf16,1x128x4096x4096,14.2us"; lines
/// that begin with # say where they come from. docs/models/device.md lists the sizes of each family.
#include <optional>
#include <string>
#include <string_view>

#include "orrery/device/operator_table.hpp"

namespace orrery::device {

/// InputError that names file and line.
[[nodiscard]] OperatorTable read_table(const std::string& path);
[[nodiscard]] OperatorTable parse_table(std::string_view text, const std::string& source);

/// "1x128x4096x4096"; nothing when it is not of that form, or has more than kMostAxes sizes.
[[nodiscard]] std::optional<Axes> parse_axes(std::string_view text);
/// "bf16"; nothing when there is no such type.
[[nodiscard]] std::optional<DataType> parse_type(std::string_view text);
/// The class of operators of this name, or of this family.
[[nodiscard]] OperatorClass class_of(std::string_view name);

}  // namespace orrery::device
