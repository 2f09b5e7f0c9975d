// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Grids of one to three dimensions, with or without the cables that close them: mesh and torus.
#include "orrery/topology/generators/fields.hpp"

namespace orrery::topology {

struct GridSpec : CableFields, EndpointFields {
  std::string dims;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("dims", &GridSpec::dims, "Hosts per dimension, x first: 16, 4x4 or 4x4x4.",
          config::Rule{.required = true});
    CableFields::fields(field);
    EndpointFields::fields(field);
  }
};

/// Host number = x + y*X + z*X*Y. With `wraps`, the last host of a line is cabled to the first, unless the
/// line has only two, which share one cable.
[[nodiscard]] Draft build_grid(const GridSpec& spec, bool wraps, const config::Cursor& at);

}  // namespace orrery::topology
