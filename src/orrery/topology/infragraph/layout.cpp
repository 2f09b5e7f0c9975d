// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/infragraph/layout.hpp"

#include <algorithm>

#include "orrery/base/check.hpp"
#include "orrery/base/text.hpp"

namespace orrery::topology::infragraph {

const Part* Layout::find(std::string_view name) const {
  const auto found = std::ranges::find(parts, name, &Part::name);
  return found == parts.end() ? nullptr : &*found;
}

std::vector<std::string> Layout::part_names() const {
  std::vector<std::string> names;
  for (const Part& part : parts) names.emplace_back(part.name);
  return names;
}

Layouts::Layouts(const Infrastructure& infrastructure, const Reader& reader, std::size_t max_nodes)
    : infrastructure_{infrastructure},
      reader_{reader},
      max_nodes_{max_nodes},
      layouts_(infrastructure.devices.size()),
      state_(infrastructure.devices.size(), 0) {
  const auto count = static_cast<std::int32_t>(infrastructure.devices.size());
  for (std::int32_t i = 0; i < count; ++i) {
    by_name_.emplace(infrastructure.devices[static_cast<std::size_t>(i)].name, i);
  }
  for (std::int32_t i = 0; i < count; ++i) lay_out(i);
}

std::int32_t Layouts::index_of(std::string_view device) const {
  const auto found = by_name_.find(device);
  return found == by_name_.end() ? -1 : found->second;
}

std::string_view Layouts::name_of(std::int32_t device) const {
  return infrastructure_.devices[static_cast<std::size_t>(device)].name;
}

std::vector<std::string> Layouts::device_names() const {
  std::vector<std::string> names;
  for (const Device& device : infrastructure_.devices) names.emplace_back(device.name);
  return names;
}

void Layouts::lay_out(std::int32_t device) {
  constexpr std::size_t kDeepest = 32;  // The recursion's bound; real descriptions nest two or three deep.
  const auto at = static_cast<std::size_t>(device);
  if (state_[at] == 2) return;
  const Device& description = infrastructure_.devices[at];
  const std::string path = description.path.empty() ? "components" : description.path + ".components";
  state_[at] = 1;
  nesting_.push_back(description.name);
  if (nesting_.size() > kDeepest) {
    reader_.fail(description.position, path, {},
                 fmt::format("devices nested deeper than {} levels", kDeepest));
  }
  std::uint64_t size = 0;
  std::vector<Part> parts;
  for (const Component& component : description.components) {
    Part part{.name = component.name,
              .count = component.count,
              .offset = static_cast<std::uint32_t>(size),
              .stride = 1,
              .kind = component.kind,
              .device = -1};
    if (component.is_device) {
      part.device = index_of(component.name);
      if (part.device < 0) {
        reader_.fail(component.position, path, std::string{component.name},
                     "a component with choice 'device' needs a device of its name, and there is none",
                     nearest_name(component.name, device_names()));
      }
      if (state_[static_cast<std::size_t>(part.device)] == 1) {
        reader_.fail(
            component.position, path, std::string{component.name},
            fmt::format("devices contain each other: {} > {}", fmt::join(nesting_, " > "), component.name));
      }
      lay_out(part.device);
      part.stride = layouts_[static_cast<std::size_t>(part.device)].size;
    }
    size += std::uint64_t{part.count} * part.stride;
    if (size > max_nodes_) {
      reader_.fail(component.position, path, std::string{component.name},
                   fmt::format("device '{}' has more than the {} nodes that are accepted", description.name,
                               max_nodes_));
    }
    parts.push_back(part);
  }
  layouts_[at] = {.parts = std::move(parts), .size = static_cast<std::uint32_t>(size)};
  nesting_.pop_back();
  state_[at] = 2;
}

std::optional<std::uint32_t> Layouts::offset_of(std::int32_t device, std::string_view path) const {
  const std::vector<std::string_view> words = split(path, '.');
  std::uint32_t offset = 0;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (device < 0) return std::nullopt;
    const Part* part = (*this)[device].find(words[i]);
    const auto index = parse_integer(words[i + 1]);
    if (part == nullptr || !index || *index < 0 || *index >= part->count) return std::nullopt;
    offset += part->offset + static_cast<std::uint32_t>(*index) * part->stride;
    device = part->device;
  }
  return words.size() % 2 == 0 && device < 0 ? std::optional{offset} : std::nullopt;
}

std::string Layouts::path_of(std::int32_t device, std::uint32_t offset) const {
  std::string path;
  while (device >= 0) {
    const std::vector<Part>& parts = (*this)[device].parts;
    const auto holds = [&](const Part& part) {
      return offset >= part.offset && offset - part.offset < std::uint64_t{part.count} * part.stride;
    };
    const auto part = std::ranges::find_if(parts, holds);
    ORRERY_CHECK(part != parts.end(), "offset {} is in no part", offset);
    const std::uint32_t index = (offset - part->offset) / part->stride;
    path += fmt::format("{}{}.{}", path.empty() ? "" : ".", part->name, index);
    offset = (offset - part->offset) % part->stride;
    device = part->device;
  }
  return path;
}

}  // namespace orrery::topology::infragraph
