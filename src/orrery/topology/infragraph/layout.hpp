// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where the nodes of each device lie: leaf components in file order, nested devices as blocks in between.
/// A node of an instance is then a number, base + offset, and text is needed only for names and errors.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "orrery/topology/infragraph/schema.hpp"

namespace orrery::topology::infragraph {

struct Part {
  std::string_view name;
  std::uint32_t count = 0;
  std::uint32_t offset = 0;  ///< Of its first node.
  std::uint32_t stride = 1;  ///< Nodes of each one: those of the nested device, or 1.
  NodeKind kind = NodeKind::kOther;
  std::int32_t device = -1;  ///< The nested device, or -1 for a leaf.
};

struct Layout {
  std::vector<Part> parts;
  std::uint32_t size = 0;  ///< Nodes of one such device.

  [[nodiscard]] const Part* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> part_names() const;
};

class Layouts {
 public:
  /// InputError when devices contain each other, name an unknown device, or have more than `max_nodes` nodes.
  Layouts(const Infrastructure& infrastructure, const Reader& reader, std::size_t max_nodes);

  [[nodiscard]] const Layout& operator[](std::int32_t device) const {
    return layouts_[static_cast<std::size_t>(device)];
  }
  /// By name; -1 when there is none.
  [[nodiscard]] std::int32_t index_of(std::string_view device) const;
  [[nodiscard]] std::string_view name_of(std::int32_t device) const;
  [[nodiscard]] std::vector<std::string> device_names() const;

  /// "nic.3.port.0" to the offset of that leaf, if it is one.
  [[nodiscard]] std::optional<std::uint32_t> offset_of(std::int32_t device, std::string_view path) const;
  /// The reverse.
  [[nodiscard]] std::string path_of(std::int32_t device, std::uint32_t offset) const;

 private:
  void lay_out(std::int32_t device);
  const Infrastructure& infrastructure_;
  const Reader& reader_;
  std::size_t max_nodes_;
  std::unordered_map<std::string_view, std::int32_t> by_name_;  // Looked up only, never iterated.
  std::vector<Layout> layouts_;
  std::vector<char> state_;  // 0 new, 1 being laid out, 2 done.
  std::vector<std::string_view> nesting_;
};

}  // namespace orrery::topology::infragraph
