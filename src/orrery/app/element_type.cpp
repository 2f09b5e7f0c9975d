// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/element_type.hpp"

#include <map>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::app {

const std::vector<ElementType>& element_types() {
  static const std::vector<ElementType> kTypes{
      {"float32", Bytes{4}, true}, {"float16", Bytes{2}, true},     {"bfloat16", Bytes{2}, true},
      {"float64", Bytes{8}, true}, {"float8_e4m3", Bytes{1}, true}, {"float8_e5m2", Bytes{1}, true},
      {"int8", Bytes{1}, false},   {"uint8", Bytes{1}, false},      {"int16", Bytes{2}, false},
      {"int32", Bytes{4}, false},  {"int64", Bytes{8}, false},
  };
  return kTypes;
}

ElementType parse_element_type(const std::string& text, const std::string& source) {
  static const std::map<std::string, std::string> kShort{
      {"f16", "float16"},  {"fp16", "float16"},   {"half", "float16"},    {"bf16", "bfloat16"},
      {"f32", "float32"},  {"fp32", "float32"},   {"float", "float32"},   {"f64", "float64"},
      {"fp64", "float64"}, {"double", "float64"}, {"fp8", "float8_e4m3"}, {"int", "int32"},
      {"long", "int64"},
  };
  const auto alias = kShort.find(text);
  const std::string& wanted = alias == kShort.end() ? text : alias->second;
  std::vector<std::string> names;
  for (const ElementType& type : element_types()) {
    if (type.name == wanted) return type;
    names.push_back(type.name);
  }
  throw InputError{{.source = source,
                    .position = {},
                    .field = {},
                    .value = text,
                    .expected = "expected one of: " + join(names, ", "),
                    .nearest = nearest_name(text, names)}};
}

}  // namespace orrery::app
