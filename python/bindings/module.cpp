// SPDX-License-Identifier: Apache-2.0
// The extension module orrery._core: thin glue over app. Results cross as JSON text, the same that the command
// prints, so that both speak of the same keys; the package orrery turns it into dicts and lists.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "orrery/app/astra_records.hpp"
#include "orrery/app/cluster_report.hpp"
#include "orrery/app/collective.hpp"
#include "orrery/app/describe.hpp"
#include "orrery/app/explain.hpp"
#include "orrery/app/native_file.hpp"
#include "orrery/app/replay.hpp"
#include "orrery/app/trace_check.hpp"
#include "orrery/app/trace_info.hpp"
#include "orrery/app/trace_make.hpp"
#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/engine/engine.hpp"
#include "orrery/topology/draw/summary.hpp"
#include "orrery/topology/draw/svg.hpp"
#include "orrery/topology/infragraph/infragraph.hpp"
#include "orrery/topology/load_cluster.hpp"
#include "orrery/version.hpp"

namespace nb = nanobind;

namespace {

using namespace orrery;

/// Runs Python's part of a long call: Ctrl-C and the progress callback. What they raise is kept and raised again
/// when the C++ side has unwound.
class Caller {
 public:
  explicit Caller(nb::object progress) : progress_{std::move(progress)} {}

  bool wants_stop() {
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() == 0) return false;
    raised_.emplace();
    return true;
  }
  void on_progress(std::size_t done, std::size_t total) {
    const nb::gil_scoped_acquire held;
    progress_(done, total);  // An exception ends the run: run_pool throws it again in this thread.
  }
  [[nodiscard]] bool has_progress() const { return !progress_.is_none(); }
  void raise_if_any() {
    if (raised_) {
      nb::python_error error = std::move(*raised_);
      raised_.reset();
      throw error;
    }
  }

 private:
  nb::object progress_;
  std::optional<nb::python_error> raised_;
};

std::string run_collective(app::CollectiveOptions& options, nb::object progress, const std::string& csv) {
  Caller caller{std::move(progress)};
  options.wants_stop = [&] { return caller.wants_stop(); };
  if (caller.has_progress()) {
    options.on_progress = [&](std::size_t done, std::size_t total) { caller.on_progress(done, total); };
  }
  try {
    const nb::gil_scoped_release released;
    const app::CollectiveResult result = app::collective(options);
    if (!csv.empty()) app::write_csv(result, csv);
    return app::to_json(result);
  } catch (const engine::Interrupted&) {
    caller.raise_if_any();
    throw;
  }
}

/// `files`: ASTRA-sim's workload, system, network, memory and groups, "" = not given.
std::string run_replay(app::ReplayOptions& options, nb::object progress,
                       const std::vector<std::string>& files) {
  Caller caller{std::move(progress)};
  options.wants_stop = [&] { return caller.wants_stop(); };
  if (caller.has_progress()) {
    options.on_progress = [&](const app::ReplayProgress& now) {
      caller.on_progress(now.ranks_done, now.ranks);
    };
  }
  if (std::ranges::any_of(files, [](const std::string& file) { return !file.empty(); })) {
    options.astra = {.workload = files[0], .system = files[1], .network = files[2], .memory = files[3]};
    options.astra->comm_group = files[4];
  }
  try {
    const nb::gil_scoped_release released;
    return options.astra ? app::to_json(app::compare_astra(options)) : app::to_json(app::replay(options));
  } catch (const engine::Interrupted&) {
    caller.raise_if_any();
    throw;
  }
}

std::string run_explain(const app::ReplayOptions& replay, std::int64_t top, bool all,
                        const std::string& output) {
  Caller caller{nb::none()};
  app::ExplainOptions options{.replay = replay, .top = top, .is_complete = all, .output = output};
  options.replay.wants_stop = [&] { return caller.wants_stop(); };
  try {
    const nb::gil_scoped_release released;
    return app::to_json(app::explain(options));
  } catch (const engine::Interrupted&) {
    caller.raise_if_any();
    throw;
  }
}

std::string run_trace_make(std::vector<std::pair<std::string, std::string>> settings,
                           const std::string& output, const std::string& form, bool force,
                           nb::object progress) {
  Caller caller{std::move(progress)};
  app::TraceMakeOptions options;
  options.settings = std::move(settings);
  options.output = output;
  options.form = form;
  options.may_replace = force;
  options.wants_stop = [&] { return caller.wants_stop(); };
  if (caller.has_progress()) {
    options.on_progress = [&](std::size_t done, std::size_t total) { caller.on_progress(done, total); };
  }
  try {
    const nb::gil_scoped_release released;
    return app::to_json(app::make_trace(options));
  } catch (const engine::Interrupted&) {
    caller.raise_if_any();
    throw;
  }
}

topology::Cluster load(const std::string& text, bool lenient) {
  const nb::gil_scoped_release released;
  topology::LoadOptions options;
  options.source = "cluster";
  options.lenient = lenient;
  return topology::load_cluster(text, options);
}

void bind_errors(nb::module_& module) {
  nb::exception<InputError>(module, "InputError", PyExc_ValueError);
  nb::exception<SimulationError>(module, "SimulationError", PyExc_RuntimeError);
  nb::exception<Bug>(module, "Bug", PyExc_RuntimeError);
  nb::exception<engine::Interrupted>(module, "Interrupted", PyExc_KeyboardInterrupt);
}

void bind_cluster(nb::module_& module) {
  using topology::Cluster;
  nb::class_<Cluster>(module, "Cluster", "A loaded cluster; read only.")
      .def_static("load", &load, nb::arg("text"), nb::kw_only(), nb::arg("lenient") = false)
      .def_prop_ro("name", [](const Cluster& cluster) { return cluster.name; })
      .def_prop_ro("nodes", [](const Cluster& cluster) { return cluster.graph.node_count(); })
      .def_prop_ro("edges", [](const Cluster& cluster) { return cluster.graph.edge_count(); })
      .def_prop_ro("ranks", [](const Cluster& cluster) { return cluster.ranks.size(); })
      .def_prop_ro("warnings", [](const Cluster& cluster) { return cluster.warnings; })
      .def("summary", [](const Cluster& cluster) { return topology::summarize(cluster); })
      .def("svg", [](const Cluster& cluster) { return topology::draw_svg(cluster); })
      .def("to_infragraph", [](const Cluster& cluster) { return topology::write_infragraph(cluster); })
      .def("to_native", [](const Cluster& cluster) { return app::write_native(cluster); })
      .def("graph_json", [](const Cluster& cluster) { return app::graph_json(cluster); })
      .def("check_json", [](const Cluster& cluster) {
        app::check_reachable(cluster, cluster.name);
        return app::summary_json(cluster);
      });
}

void bind_replay(nb::module_& module) {
  using Options = app::ReplayOptions;
  nb::class_<Options>(module, "ReplayOptions", "What orrery.replay() was asked for.")
      .def(nb::init<>())
      .def_rw("trace", &Options::trace)
      .def_rw("cluster", &Options::cluster)
      .def_rw("network", &Options::network)
      .def_rw("algorithm", &Options::algorithm)
      .def_rw("compute", &Options::compute)
      .def_rw("ranks", &Options::ranks, nb::arg().none())
      .def_rw("comm_group", &Options::comm_group)
      .def_rw("streams", &Options::streams)
      .def_rw("eager_limit", &Options::eager_limit)
      .def_rw("window", &Options::window)
      .def_rw("folds", &Options::folds)
      .def_rw("seed", &Options::seed)
      .def_rw("output", &Options::output)
      .def_rw("trace_file", &Options::trace_file)
      .def_rw("csv", &Options::csv)
      .def_rw("lenient", &Options::lenient);
  module.def("replay_json", &run_replay, nb::arg("options"), nb::arg("progress").none(), nb::arg("files"));
  module.def("explain_json", &run_explain, nb::arg("options"), nb::arg("top"), nb::arg("all"),
             nb::arg("out"));
}

void bind_trace(nb::module_& module) {
  module.def(
      "trace_info_json", [](const std::string& trace) { return app::to_json(app::trace_info(trace)); },
      nb::arg("trace"), nb::call_guard<nb::gil_scoped_release>());
  module.def(
      "trace_check_json",
      [](const std::string& trace, const std::string& comm_groups) {
        return app::to_json(app::trace_check(trace, comm_groups));
      },
      nb::arg("trace"), nb::arg("comm_group") = "", nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "The C++ core of Orrery.";
  module.def("version", [] { return kVersion; }, "Version of the core.");
  module.def("commit", &commit, "Commit the core was built from, or \"unknown\".");
  bind_errors(module);
  bind_cluster(module);
  bind_replay(module);
  module.def(
      "describe_json",
      [](const std::string& name) {
        return app::to_json(name.empty() ? app::describe() : app::describe(name));
      },
      nb::arg("name") = "");
  module.def("presets_json", [] { return app::presets_json(app::list_presets()); });
  bind_trace(module);
  module.def("trace_make_json", &run_trace_make, nb::arg("settings"), nb::arg("output"), nb::arg("form"),
             nb::arg("force"), nb::arg("progress").none());

  using Options = app::CollectiveOptions;
  nb::class_<Options>(module, "CollectiveOptions", "What orrery.collective() was asked for.")
      .def(nb::init<>())
      .def_rw("operation", &Options::operation)
      .def_rw("cluster", &Options::cluster)
      .def_rw("ranks", &Options::ranks, nb::arg().none())
      .def_rw("group", &Options::group)
      .def_rw("size", &Options::size)
      .def_rw("uneven", &Options::uneven)
      .def_rw("algorithm", &Options::algorithm)
      .def_rw("network", &Options::network)
      .def_rw("dtype", &Options::dtype)
      .def_rw("root", &Options::root)
      .def_rw("seed", &Options::seed)
      .def_rw("skew", &Options::skew)
      .def_rw("iterations", &Options::iterations)
      .def_rw("workers", &Options::workers)
      .def_rw("trace", &Options::trace)
      .def_rw("lenient", &Options::lenient);
  module.def("collective_json", &run_collective, nb::arg("options"), nb::arg("progress").none(),
             nb::arg("csv") = "");
}
