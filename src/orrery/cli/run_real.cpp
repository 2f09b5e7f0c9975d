// SPDX-License-Identifier: Apache-2.0
#include "orrery/cli/run_real.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "orrery/app/real_run.hpp"
#include "orrery/base/error.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/quantities.hpp"
#include "orrery/cli/run_text.hpp"

namespace orrery::cli {

void add_real_options(CLI::App& command, RealArguments& arguments) {
  command.add_flag("--real", arguments.is_real,
                   "Run it for real on this host, over gloo, and note what happens");
  command.add_option("--repeat", arguments.repeat, "Of --real: launches; the median one is the result")
      ->capture_default_str();
  command.add_option("--link", arguments.link,
                     "Of --real: each rank in a network namespace behind a link of this rate, as 1Gbps or "
                     "200Mbps,burst=64KiB (root)");
}

void check_real_options(const CLI::App& command, const RealArguments& arguments) {
  const auto is_given = [&](const char* name) { return command.get_option(name)->count() > 0; };
  if (!arguments.is_real) {
    for (const char* name : {"--repeat", "--link"}) {
      if (is_given(name)) {
        throw InputError{fmt::format("{}: only a real run has it; expected --real as well", name)};
      }
    }
    if (!is_given("--cluster")) throw InputError{"--cluster is required, unless the run is --real"};
    return;
  }
  for (const char* name : {"--cluster", "--network", "--algorithm", "--compute", "--jobs", "--faults",
                           "--capture", "--seed", "--fresh", "--tag-output"}) {
    if (is_given(name)) throw InputError{fmt::format("{}: a real run has no such thing; leave it out", name)};
  }
}

app::LiveResult run_real(const app::LiveOptions& options, const RealArguments& arguments) {
  app::RealOptions real;
  real.launch = options.launch;
  real.repeat = read_integer("--repeat", arguments.repeat);
  real.link = arguments.link;
  real.warmup = options.warmup;
  real.output = options.output;
  real.output_to_stderr = options.output_to_stderr;
  real.command = options.command;
  real.option_prefix = options.option_prefix;
  real.wants_stop = options.wants_stop;
  real.say = options.say;  // Empty where nobody wants to be told.
  return app::run_real(real);
}

std::string format_real(const app::LiveResult& result, const std::string& folder) {
  std::string text =
      fmt::format("\n{} for real on {}", duration_text(Duration{result.total_ps}), result.cluster);
  if (result.repeats.size() > 1) {
    const auto [least, most] = std::ranges::minmax_element(result.repeats, {}, &app::LiveRepeat::total_ps);
    text += fmt::format(" (median of {} launches, {} to {})", result.repeats.size(),
                        duration_text(Duration{least->total_ps}), duration_text(Duration{most->total_ps}));
  }
  text += "\n\n" + format_run_tables(result);
  text += fmt::format("\n{:.1f} s of wall time\n", result.wall_seconds);
  for (const std::string& note : result.notes) text += fmt::format("note: {}\n", note);
  if (!folder.empty()) text += fmt::format("{}/: result.json, events.csv, manifest.json\n", folder);
  return text;
}

}  // namespace orrery::cli
