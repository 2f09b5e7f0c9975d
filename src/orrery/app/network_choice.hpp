// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A network model that the user named, checked before anything is built.
#include <functional>
#include <memory>
#include <string>

#include "orrery/network/network_model.hpp"

namespace orrery::app {

struct NetworkChoice {
  std::string name;      ///< Of the model: "flow".
  std::string resolved;  ///< With every setting: "flow {resolve_delay: 0ps}".
  /// May be called from several threads at once.
  std::function<std::unique_ptr<network::NetworkModel>(network::NetworkContext&)> build;
};

/// `text` is a model with its settings in one line ("flow:resolve_delay=1us"), or the path of a YAML file
/// {flow: {resolve_delay: 1us}}. InputError names `source`, or the place in the file.
[[nodiscard]] NetworkChoice choose_network(const std::string& text, const network::NetworkRegistry& registry,
                                           const std::string& source);

}  // namespace orrery::app
