// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/generators/generator.hpp"
#include "orrery/topology/generators/grid.hpp"

namespace orrery::topology {
namespace {

Draft build(const GridSpec& spec, const config::Cursor& at) { return build_grid(spec, true, at); }

}  // namespace

Generator torus_generator() {
  return describe_generator<GridSpec>("torus", "A mesh whose lines are closed to rings.", build);
}

}  // namespace orrery::topology
