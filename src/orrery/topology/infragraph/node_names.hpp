// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Names of expanded nodes and back: "host.0.xpu.3", a prefix such as "host.0", or slices "host[0:2]xpu[0:3]".
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "orrery/topology/infragraph/expand.hpp"

namespace orrery::topology::infragraph {

/// Nodes first, first + 1, ...: all that lies under one prefix is numbered in a row.
struct NodeRange {
  std::uint32_t first = 0;
  std::uint32_t size = 0;
  [[nodiscard]] bool contains(std::uint32_t node) const { return node >= first && node - first < size; }
};

class NodeNames {
 public:
  NodeNames(const Expansion& expansion, const Layouts& layouts);

  /// What lies under a dotted path, or nothing.
  [[nodiscard]] std::optional<NodeRange> under(std::string_view path) const;
  /// What an annotation's name means; the error at `at` says which part of it does not exist.
  [[nodiscard]] std::vector<NodeRange> resolve(const Field& at);
  /// Counts `steps` of work done for the annotation at `at`; an error when a file asks for absurdly much.
  void charge(std::uint64_t steps, const Field& at);

 private:
  [[nodiscard]] std::vector<std::string> expand_slices(std::string_view text, const Field& at);
  [[nodiscard]] const InstanceBlock* instance(std::string_view name) const;
  const Expansion& expansion_;
  const Layouts& layouts_;
  std::unordered_map<std::string_view, std::size_t> block_of_;
  std::unordered_map<std::string_view, std::uint32_t> phantom_of_;
  std::uint64_t steps_left_ = 1'000'000'000;
};

/// Calls `visit(name, kind)` for every node in order of number; `group` is the name of its instance, "host.0".
void name_nodes(const Expansion& expansion, const Layouts& layouts,
                const std::function<void(std::string name, NodeKind kind, const std::string& group)>& visit);

}  // namespace orrery::topology::infragraph
