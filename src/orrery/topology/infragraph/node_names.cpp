// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/infragraph/node_names.hpp"

#include "orrery/base/check.hpp"
#include "orrery/base/text.hpp"
#include "orrery/topology/infragraph/slice.hpp"

namespace orrery::topology::infragraph {
namespace {

using Visit = std::function<void(std::string, NodeKind, const std::string&)>;

/// `prefix` is that of the device at hand, with a dot; it is restored on return.
void name_device(const Layouts& layouts, std::int32_t device, std::string& prefix, const std::string& group,
                 const Visit& visit) {
  const std::size_t length = prefix.size();
  for (const Part& part : layouts[device].parts) {
    if (part.stride == 0) continue;
    prefix.append(part.name).push_back('.');
    const std::size_t stem = prefix.size();
    for (std::uint32_t i = 0; i < part.count; ++i) {
      prefix.append(std::to_string(i));
      if (part.device < 0) {
        visit(prefix, part.kind, group);
      } else {
        prefix.push_back('.');
        name_device(layouts, part.device, prefix, group, visit);
      }
      prefix.resize(stem);
    }
    prefix.resize(length);
  }
}

}  // namespace

void name_nodes(const Expansion& expansion, const Layouts& layouts, const Visit& visit) {
  for (const InstanceBlock& block : expansion.instances) {
    if (layouts[block.device].size == 0) continue;
    for (std::uint32_t i = 0; i < block.count; ++i) {
      const std::string group = fmt::format("{}.{}", block.name, i);
      std::string prefix = group + ".";
      name_device(layouts, block.device, prefix, group, visit);
    }
  }
  for (const std::string& name : expansion.phantoms) visit(name, NodeKind::kOther, {});
}

NodeNames::NodeNames(const Expansion& expansion, const Layouts& layouts)
    : expansion_{expansion}, layouts_{layouts} {
  for (std::size_t i = 0; i < expansion.instances.size(); ++i) {
    block_of_.emplace(expansion.instances[i].name, i);
  }
  for (std::size_t i = 0; i < expansion.phantoms.size(); ++i) {
    phantom_of_.emplace(expansion.phantoms[i], static_cast<std::uint32_t>(expansion.declared + i));
  }
}

const InstanceBlock* NodeNames::instance(std::string_view name) const {
  const auto found = block_of_.find(name);
  return found == block_of_.end() ? nullptr : &expansion_.instances[found->second];
}

std::optional<NodeRange> NodeNames::under(std::string_view path) const {
  const std::vector<std::string_view> words = split(path, '.');
  const InstanceBlock* block = instance(words[0]);
  if (block == nullptr) return std::nullopt;
  std::int32_t device = block->device;
  std::uint32_t stride = layouts_[device].size;
  NodeRange range{block->base, block->count * stride};
  std::uint32_t count = block->count;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (i % 2 == 1) {
      const auto index = parse_integer(words[i]);
      if (!index || *index < 0 || *index >= count) break;
      range = {range.first + static_cast<std::uint32_t>(*index) * stride, stride};
    } else {
      const Part* part = device < 0 ? nullptr : layouts_[device].find(words[i]);
      if (part == nullptr) break;
      count = part->count;
      stride = part->stride;
      device = part->device;
      range = {range.first + part->offset, count * stride};
    }
    if (i + 1 == words.size()) return range;
  }
  if (words.size() == 1) return range;
  const auto phantom = phantom_of_.find(path);
  return phantom == phantom_of_.end() ? std::nullopt : std::optional{NodeRange{phantom->second, 1}};
}

std::vector<std::string> NodeNames::expand_slices(std::string_view text, const Field& at) {
  std::vector<std::string> paths{""};
  std::int32_t device = -1;
  for (bool is_first = true; !text.empty(); is_first = false) {
    const std::size_t open = text.find('[');
    const std::size_t close = text.find(']');
    const std::string_view name = text.substr(0, open);
    const bool has_slice = open != std::string_view::npos;
    if (name.empty() || (has_slice && close == std::string_view::npos)) {
      at.fail("expected names with slices, such as 'host[0:2]xpu[0:8]'");
    }
    const InstanceBlock* block = is_first ? instance(name) : nullptr;
    const Part* part = device < 0 ? nullptr : layouts_[device].find(name);
    if (block == nullptr && part == nullptr) at.fail(fmt::format("there is no '{}' here", name));
    const Slice slice = has_slice ? resolve_slice(text.substr(open + 1, close - open - 1),
                                                  block != nullptr ? block->count : part->count)
                                  : Slice{};
    if (!slice.problem.empty()) at.fail(slice.problem);
    const std::size_t copies = has_slice ? static_cast<std::size_t>(slice.indices.size) : 1;
    constexpr std::uint64_t kStepsPerName = 100;
    charge(kStepsPerName * paths.size() * copies, at);
    std::vector<std::string> next;
    for (const std::string& parent : paths) {
      const std::string stem = parent.empty() ? std::string{name} : fmt::format("{}.{}", parent, name);
      for (std::size_t i = 0; i < copies; ++i) {
        next.push_back(has_slice ? fmt::format("{}.{}", stem, slice.indices[static_cast<std::int64_t>(i)])
                                 : stem);
      }
    }
    paths = std::move(next);
    device = block != nullptr ? block->device : part->device;
    text = has_slice ? text.substr(close + 1) : std::string_view{};
  }
  return paths;
}

void NodeNames::charge(std::uint64_t steps, const Field& at) {
  if (steps > steps_left_) at.fail("the annotations of this file mean more nodes than are accepted");
  steps_left_ -= steps;
}

std::vector<NodeRange> NodeNames::resolve(const Field& at) {
  const std::string_view text = at.text();
  const bool is_literal = text.find('.') != std::string_view::npos;
  const std::vector<std::string> paths =
      is_literal ? std::vector{std::string{text}} : expand_slices(text, at);
  std::vector<NodeRange> ranges;
  for (const std::string& path : paths) {
    const auto range = under(path);
    if (!range) at.fail(fmt::format("there is no node '{}'", path));
    ranges.push_back(*range);
  }
  return ranges;
}

}  // namespace orrery::topology::infragraph
