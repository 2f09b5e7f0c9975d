// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One token of an endpoint, "xpu[0:8:2]": a name and which of its `count` things are meant.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::topology::infragraph {

struct Token {
  std::string_view name;
  std::string_view slice;  ///< Between the brackets.
  bool has_slice = false;
  bool is_well_formed = false;  ///< "name" or "name[...]" with nothing after it.
};

[[nodiscard]] Token parse_token(std::string_view text);

/// The indices first, first + step, ...; `size` of them. Not bounded by the count when a single index is not.
struct Indices {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t size = 0;
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const { return first + i * step; }
};

struct Slice {
  Indices indices;
  std::string problem;        ///< Not empty: upstream refuses it too.
  bool out_of_range = false;  ///< Some index or bound lies beyond the count; upstream clips or goes along.
};

/// Python's rules, as InfraGraph 3.1 applies them: blank parts have defaults, negative ones count from the
/// end, bounds of a range are clipped, a single index is not.
[[nodiscard]] Slice resolve_slice(std::string_view text, std::int64_t count);

}  // namespace orrery::topology::infragraph
