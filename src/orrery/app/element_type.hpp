// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Element types by their torch names: how large one is, and whether it is floating point.
#include <string>
#include <vector>

#include "orrery/base/units.hpp"

namespace orrery::app {

struct ElementType {
  std::string name;
  Bytes size;
  bool is_floating = true;
};

[[nodiscard]] const std::vector<ElementType>& element_types();
/// Also takes the short forms "f32", "fp16", "bf16", "half", "float", "double", "int". InputError lists the names.
[[nodiscard]] ElementType parse_element_type(const std::string& text, const std::string& source);

}  // namespace orrery::app
