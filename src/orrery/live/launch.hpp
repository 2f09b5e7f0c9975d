// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How the processes of a run are started: which words, which environment.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace orrery::live {

struct LaunchOptions {
  std::vector<std::string> program;   ///< The script, or -m and a module, and its arguments.
  std::optional<std::int64_t> ranks;  ///< None: the program starts its own.
  bool is_fresh = false;              ///< Separate interpreters instead of forks of one.
  std::string warmup;                 ///< What ranks count themselves: "3" optimizer steps, "mark:NAME".
  std::string device_map;             ///< For the ranks: JSON about the devices they are to find, or "".
  std::string dataflow;               ///< Folder where ranks note which operators need others' data, or "".
  std::string python;                 ///< The interpreter.
  std::string package;                ///< Folder of the Python package.
};

struct Launch {
  std::vector<std::string> words;
  std::vector<std::string> environment;  ///< "NAME=value".
};

/// Tells programs apart: the words, and what stands in the script if it is one.
[[nodiscard]] std::uint64_t program_digest(const std::vector<std::string>& program);

/// `address` is the coordinator's, `control` the launcher's descriptor, `outputs` those of TaggedOutput or none.
/// InputError when a part of Orrery or the program is missing.
[[nodiscard]] Launch plan_launch(const LaunchOptions& options, const std::string& address, int control,
                                 const std::vector<int>& outputs);

/// The same for a real run: `settings` are those of real.py.
[[nodiscard]] Launch plan_real_launch(const LaunchOptions& options, const std::string& settings,
                                      const std::string& warmup);

}  // namespace orrery::live
