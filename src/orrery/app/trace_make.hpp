// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery trace make` as a call: steps of a transformer as trace files, and what they add up to.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/timeline/manifest.hpp"
#include "orrery/workload/generate/recipe.hpp"
#include "orrery/workload/generate/summary.hpp"

namespace orrery::app {

struct TraceMakeOptions {
  /// Settings and their values as texts, as in "make:model=llama-3-8b,tp=8": every front reports mistakes alike.
  std::vector<std::pair<std::string, std::string>> settings{};
  std::string output{};      ///< Prefix of the files, or "" to count only.
  std::string form = "et";   ///< "et", "et.gz", "json" or "json.gz".
  bool may_replace = false;  ///< Files of that name that are there.
  std::string catalog{};
  std::string option_prefix{};         ///< "--" for messages about options.
  std::vector<std::string> command{};  ///< As typed, for the manifest.
  std::function<bool()> wants_stop{};
  std::function<void(std::size_t done, std::size_t total)> on_progress{};
};

struct TraceMakeResult {
  std::string name;
  workload::generate::Recipe recipe;
  workload::generate::Summary summary;
  std::string first_file;  ///< "" when none was written.
  std::string last_file;
  timeline::Manifest manifest;
};

/// InputError, engine::Interrupted. Files appear whole; when one cannot be written, those before it are taken away.
[[nodiscard]] TraceMakeResult make_trace(const TraceMakeOptions& options);
[[nodiscard]] std::string to_json(const TraceMakeResult& result);

}  // namespace orrery::app
