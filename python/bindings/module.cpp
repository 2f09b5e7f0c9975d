// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include "orrery/version.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The C++ core of Orrery.";
  module.def("version", [] { return orrery::kVersion; }, "Version of the core.");
  module.def("commit", &orrery::commit, "Commit the core was built from, or \"unknown\".");
}
