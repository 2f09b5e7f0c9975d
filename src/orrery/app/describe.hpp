// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery describe` as a call: everything that can be named, with its settings, from the registries themselves.
#include <string>
#include <vector>

#include "orrery/config/spec.hpp"

namespace orrery::app {

/// One thing a user can name.
struct Description {
  /// "network", "algorithm", "selection", "generator", "cluster", "device", "model", "workload", "operation", "dtype".
  std::string kind;
  std::string name;
  std::string help;
  std::vector<config::FieldDoc> fields{};  ///< Settings.
  std::vector<std::string> operations{};   ///< Algorithms: what they do.
};

/// Everything, by kind in the order above.
[[nodiscard]] std::vector<Description> describe();
/// Those of that name; InputError with the nearest name when there is none.
[[nodiscard]] std::vector<Description> describe(const std::string& name);

[[nodiscard]] std::string to_json(const std::vector<Description>& descriptions);

}  // namespace orrery::app
