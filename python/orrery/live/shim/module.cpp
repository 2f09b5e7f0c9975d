// SPDX-License-Identifier: Apache-2.0
// The bridge between torch.distributed and a simulated cluster, as a Python module. Compiled once per version of
// torch on the user's machine (build_shim.py): torch has no stable interface for backends. The orrery_* functions
// come from the rank library, which is preloaded into every process of a run.
#include <pybind11/chrono.h>

#include <cmath>
#include <numeric>

#include "backend.hpp"
#include "observer.hpp"
#include "store.hpp"
#include "where.hpp"

namespace orrery::live::shim {
namespace {

/// For Backend.register_backend(..., extended_api=True). No ranks mean the whole world.
c10::intrusive_ptr<c10d::Backend> create_backend(const c10d::DistributedBackendOptions& options,
                                                 std::string label) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(options.group_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (!options.global_ranks_in_group.empty()) {
    ranks.assign(options.global_ranks_in_group.begin(), options.global_ranks_in_group.end());
  }
  const auto timeout = Milliseconds{std::llround(static_cast<double>(options.timeout.count()) * 1000)};
  return c10::make_intrusive<Backend>(options.group_rank, std::move(ranks), options.group_id, timeout,
                                      std::move(label));
}

void define(py::module_& module) {
  const py::object c10d_module = py::module_::import("torch._C._distributed_c10d");
  run_ended_type = PyErr_NewExceptionWithDoc("orrery.live.RunEnded",
                                             "The simulation is over; the program ends without a word.",
                                             PyExc_SystemExit, nullptr);
  module.add_object("RunEnded", run_ended_type);

  py::class_<Store, c10::intrusive_ptr<Store>>(module, "Store", c10d_module.attr("Store"))
      .def(py::init([](std::string name, Milliseconds timeout) {
             return c10::make_intrusive<Store>(std::move(name), timeout);
           }),
           py::arg("name"), py::arg("timeout"))
      .def_property_readonly("store_name", &Store::name);
  py::class_<Backend, c10::intrusive_ptr<Backend>>(module, "Backend", c10d_module.attr("Backend"))
      .def("_set_default_timeout", &Backend::setTimeout, py::arg("timeout"));

  module.def("create_backend", &create_backend, py::call_guard<py::gil_scoped_release>());
  module.def("observe", &Observer::start);
  module.def("follow_data", &Dataflow::turn_on);
  module.def("write_dataflow",
             [](const std::string& path) { write_dataflow(Dataflow::instance().windows(), path); });
  module.def("set_foreign", &Where::set_foreign);
  orrery_progress_hook = &Pending::progress;
  orrery_pending_hook = &Pending::has_any;
}

}  // namespace
}  // namespace orrery::live::shim

PYBIND11_MODULE(orrery_shim, module) { orrery::live::shim::define(module); }
