// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "orrery/app/device_times.hpp"
#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/quantities.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

struct Arguments {
  app::DeviceOptions options;
  bool is_roofline = false;
  bool is_json = false;
};

constexpr const char* kExamples = R"(Examples:
  orrery device h100_sxm
      its rates, as --compute model uses them
  orrery device h100_sxm gemm:bf16:1x128x4096x4096 attention_causal:bf16:1x32x8x2048x2048x128
      how long these operators take there (docs/models/device.md lists families and their sizes)
  orrery device --cluster here.yaml --check other.csv
      the model of a profiled machine against measured times that it does not have
)";

std::string rates_text(const app::DeviceTimes& times) {
  const device::Rates& rates = times.rates;
  std::string text = fmt::format("{}\n", times.device.name.empty() ? "device" : times.device.name);
  for (std::size_t i = 0; i < device::kDataTypes; ++i) {
    text += fmt::format("  {:<5} {:>10.5g} Tflops\n", device::kTypeNames[i], rates.peak[i] / 1e12);
  }
  text += fmt::format("  memory {} at {:.5g} GB/s\n", bytes_text(rates.memory), rates.bandwidth / 1e9);
  text += fmt::format("  launch {}, host {} per operator{}\n", duration_text(Duration{rates.launch_ps}),
                      duration_text(Duration{rates.host_ps}), rates.is_asynchronous ? ", asynchronous" : "");
  if (times.profiled > 0) text += fmt::format("  {} profiled operators\n", times.profiled);
  text += "  share of peak / of bandwidth:";
  for (std::size_t i = 0; i < device::kCostedClasses; ++i) {
    text += fmt::format("{} {} {:.3g}/{:.3g}", i == 0 ? "" : ",", device::kClassNames[i],
                        rates.compute_efficiency[i], rates.memory_efficiency[i]);
  }
  return text + "\n";
}

std::string times_text(const app::DeviceTimes& times) {
  std::vector<std::vector<std::string>> rows;
  for (const app::OperatorTime& time : times.times) {
    const auto predicted = static_cast<double>(time.cost.device_ps);
    rows.push_back(
        {time.name, std::string{device::kTypeNames[static_cast<std::size_t>(time.type)]},
         app::axes_text(time.axes), duration_text(Duration{time.cost.device_ps}),
         app::source_text(time.cost.source),
         time.measured_ps ? fmt::format("{:+.1f} %", 100 * (predicted / *time.measured_ps - 1)) : ""});
  }
  return format_table({"<operator", "<dtype", "<sizes", "time", "<from", "error"}, rows);
}

std::string errors_text(const std::vector<double>& errors) {
  if (errors.empty()) return {};
  const auto at = [&](double share) {
    return 100 * errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1))];
  };
  return fmt::format("{} measured times: error median {:.1f} %, 90th percentile {:.1f} %, worst {:.0f} %\n",
                     errors.size(), at(0.5), at(0.9), at(1));
}

void run(Arguments& arguments) {
  arguments.options.uses_tables = !arguments.is_roofline;
  const app::DeviceTimes times = app::time_operators(arguments.options);
  if (arguments.is_json) return print(app::to_json(times));
  print(times.times.empty() ? rates_text(times) : times_text(times) + errors_text(times.errors()));
}

}  // namespace

void add_device(CLI::App& root, Session& session) {
  CLI::App* command = root.add_subcommand("device", "What a device's model says of operators.");
  const auto arguments = std::make_shared<Arguments>();
  app::DeviceOptions& options = arguments->options;
  command->add_option("device", options.device, "Device of the catalogue");
  command->add_option("operators", options.questions, "NAME:DTYPE:SIZES each");
  command->add_option("--cluster", options.cluster, "Instead: the device of this cluster's first rank");
  command->add_option("--operators", options.operators,
                      "Table of profiled operators in place of the device's own");
  command->add_option("--check", options.check, "Table of measured times to compare with the model's");
  command->add_flag("--roofline", arguments->is_roofline, "The roofline alone, without tables");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->footer(kExamples);
  command->callback([arguments, &session] {
    // With --cluster the first word is a question.
    app::DeviceOptions& asked = arguments->options;
    if (!asked.cluster.empty() && asked.device.find(':') != std::string::npos) {
      asked.questions.insert(asked.questions.begin(), std::exchange(asked.device, {}));
    }
    session.action = [arguments] { run(*arguments); };
  });
}

}  // namespace orrery::cli
