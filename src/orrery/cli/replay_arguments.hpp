// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What `orrery replay` takes for runs that ASTRA-sim's files describe.
#include <string>

#include "orrery/app/astra_records.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

struct AstraArguments {
  app::AstraReplayOptions options;
  std::string queues = "1";
  std::string injection_scale = "1";
  std::string comm_scale = "1";
  std::string compute_scale = "1";
  std::string rendezvous = "false";
  std::string logging{};
};

void add_astra_options(CLI::App& command, AstraArguments& arguments);
[[nodiscard]] bool has_astra_files(const AstraArguments& arguments);
/// InputError when a file is missing or a value makes no sense.
[[nodiscard]] app::AstraReplayOptions read_astra_arguments(const AstraArguments& arguments);
[[nodiscard]] std::string format_astra(const app::AstraComparison& comparison);

}  // namespace orrery::cli
