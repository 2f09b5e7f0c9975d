// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What produced a result: enough to make it again. It goes into every file we write and holds nothing of the
/// machine or the hour, so the same run gives the same bytes anywhere.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace orrery::timeline {

struct Manifest {
  std::string version;  ///< Of Orrery.
  std::string commit;   ///< Of Orrery's sources; empty when not known.
  std::uint64_t seed = 0;
  std::uint64_t digest = 0;  ///< Engine::digest() after the run.
  /// Every setting with its value as used, defaults included, in the order of the reference page. Keys differ.
  std::vector<std::pair<std::string, std::string>> configuration;
  std::vector<std::string> command;  ///< As typed; folders of absolute paths are left out when written.
};

/// {"version", "commit", "seed", "digest", "configuration_hash", "command", "configuration": {...}}; hashes are
/// 16 hexadecimal digits.
[[nodiscard]] nlohmann::ordered_json to_json(const Manifest& manifest);

/// The same as lines "# key: value" for the head of a CSV file; settings are "# configuration.KEY: value".
[[nodiscard]] std::string to_comment_lines(const Manifest& manifest);

/// The command as one line a shell would take: "/data/c.yaml" becomes "c.yaml", words with blanks are
/// quoted.
[[nodiscard]] std::string portable_command(const std::vector<std::string>& words);

}  // namespace orrery::timeline
