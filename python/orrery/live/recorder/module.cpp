// SPDX-License-Identifier: Apache-2.0
// What notes a real run, as a Python module. Compiled once per version of torch, like the bridge to the simulation.
#include <dlfcn.h>

#include "backend.hpp"

namespace orrery::live::recorder {
namespace {

namespace py = pybind11;

/// The one that runs the program. What others wait or sleep takes nothing of the rank's time.
thread_local bool is_rank_thread = false;

/// Called by the preloaded library around every wait on a condition.
void note_blocked(std::int64_t begin, std::int64_t end) {
  if (is_rank_thread && wait_depth == 0) Log::instance().blocked(begin, end, -1);
}

void note_slept(std::int64_t begin, std::int64_t end) {
  if (is_rank_thread) Log::instance().slept(begin, end);
}

/// True when the library that sees waits in futures is there. Those of DDP can be seen nowhere else.
bool listen(int priority) {
  is_rank_thread = true;
  helper_priority = priority;
  auto* const hook =
      reinterpret_cast<void (**)(std::int64_t, std::int64_t)>(::dlsym(RTLD_DEFAULT, "orrery_blocked_hook"));
  if (hook == nullptr) return false;
  *hook = &note_blocked;
  return true;
}

void define(py::module_& module) {
  const py::object c10d_module = py::module_::import("torch._C._distributed_c10d");
  py::class_<Backend, c10::intrusive_ptr<Backend>>(module, "Backend", c10d_module.attr("Backend"));
  module.def("wrap",
             [](const Backend::Inner& inner, std::vector<std::int32_t> ranks, const std::string& name) {
               if (ranks.empty()) {
                 ranks.resize(static_cast<std::size_t>(inner->getSize()));
                 std::iota(ranks.begin(), ranks.end(), 0);
               }
               return c10::make_intrusive<Backend>(inner, std::move(ranks), name);
             });
  module.def("listen", &listen);
  module.def("now", &now_ns);
  module.def("slept", &note_slept);
  module.def("set_foreign", &shim::Where::set_foreign);
  module.def("write", [](const std::string& path, const std::string& head) {
    return Log::instance().write(path, head);
  });
}

}  // namespace
}  // namespace orrery::live::recorder

PYBIND11_MODULE(orrery_recorder, module) { orrery::live::recorder::define(module); }
