// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/generators/generator.hpp"
#include "orrery/topology/generators/grid.hpp"

namespace orrery::topology {
namespace {

Draft build(const GridSpec& spec, const config::Cursor& at) { return build_grid(spec, false, at); }

}  // namespace

Generator mesh_generator() {
  return describe_generator<GridSpec>(
      "mesh", "Hosts on a grid of 1 to 3 dimensions, each cabled to its neighbours.", build);
}

}  // namespace orrery::topology
