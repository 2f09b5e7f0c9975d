// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/infragraph/endpoint.hpp"

#include "orrery/base/check.hpp"
#include "orrery/base/text.hpp"

namespace orrery::topology::infragraph {

EndpointExpander::EndpointExpander(const Layouts& layouts, const Reader& reader, std::size_t max_work)
    : layouts_{layouts}, reader_{reader}, work_left_{max_work} {}

const std::vector<std::uint32_t>& EndpointExpander::expand(std::int32_t device, std::string_view expression,
                                                           const ExpressionSite& site) {
  const auto [place, is_new] = known_.try_emplace({device, expression});
  if (is_new) {
    place->second =
        reader_.lenient ? walk_lenient(device, expression, site) : walk_strict(device, expression, site);
  }
  return place->second;
}

Indices EndpointExpander::indices(std::string_view text, std::int64_t count,
                                  const ExpressionSite& site) const {
  const Token token = parse_token(text);
  if (!token.is_well_formed && !reader_.lenient) {
    fail(text, site, "expected a name, or a name and a slice such as 'xpu[0:8]'");
  }
  const Slice slice = resolve_slice(token.slice, count);
  if (!slice.problem.empty()) fail(text, site, slice.problem);
  if (reader_.lenient) return slice.indices;
  if (slice.out_of_range) {
    fail(text, site, fmt::format("reaches beyond the {} '{}' there are", count, token.name));
  }
  if (slice.indices.size == 0) {
    fail(text, site, fmt::format("selects none of the {} '{}' there are", count, token.name));
  }
  return slice.indices;
}

std::vector<std::uint32_t> EndpointExpander::walk_strict(std::int32_t device, std::string_view expression,
                                                         const ExpressionSite& site) {
  std::vector<std::uint32_t> offsets{0};
  std::string_view walked = layouts_.name_of(device);
  for (const std::string_view text : split(expression, '.')) {
    const Token token = parse_token(text);
    if (device < 0) {
      fail(expression, site, fmt::format("'{}' is no device and has no component '{}'", walked, token.name));
    }
    const Layout& here = layouts_[device];
    const Part* part = here.find(token.name);
    if (part == nullptr) {
      fail(expression, site,
           fmt::format("device '{}' has no component '{}'", layouts_.name_of(device), token.name),
           nearest_name(token.name, here.part_names()));
    }
    const Indices chosen = indices(text, part->count, site);
    charge(offsets.size() * static_cast<std::size_t>(chosen.size), site);
    std::vector<std::uint32_t> next;
    next.reserve(offsets.size() * static_cast<std::size_t>(chosen.size));
    for (const std::uint32_t base : offsets) {
      for (std::int64_t i = 0; i < chosen.size; ++i) {
        next.push_back(base + part->offset + static_cast<std::uint32_t>(chosen[i]) * part->stride);
      }
    }
    offsets = std::move(next);
    walked = token.name;
    device = part->device;
  }
  if (device >= 0) {
    fail(expression, site,
         fmt::format("'{}' is a device, not a node; go on to one of its components: {}", walked,
                     join(layouts_[device].part_names(), ", ")));
  }
  return offsets;
}

/// Upstream puts texts together and lets the graph make a node of whatever comes out: a name that is no
/// component is skipped, though its device counts from there on, and an index too high names a new node.
std::vector<std::uint32_t> EndpointExpander::walk_lenient(std::int32_t device, std::string_view expression,
                                                          const ExpressionSite& site) {
  const std::int32_t root = device;
  std::vector<std::string> paths;
  for (const std::string_view text : split(expression, '.')) {
    const Token token = parse_token(text);
    if (device < 0) fail(expression, site, fmt::format("there is no device to look '{}' up in", token.name));
    const Part* part = layouts_[device].find(token.name);
    if (part != nullptr) {
      const Indices chosen = indices(text, part->count, site);
      if (paths.empty()) paths.emplace_back();
      charge(paths.size() * static_cast<std::size_t>(chosen.size), site);
      std::vector<std::string> next;
      for (const std::string& parent : paths) {
        for (std::int64_t i = 0; i < chosen.size; ++i) {
          next.push_back(fmt::format("{}{}{}.{}", parent, parent.empty() ? "" : ".", token.name, chosen[i]));
        }
      }
      paths = std::move(next);
    } else {
      remarks_.push_back(
          fmt::format("{}: device '{}' has no component '{}'; that part of '{}' is passed over", site.path(),
                      layouts_.name_of(device), token.name, expression));
    }
    device = layouts_.index_of(token.name);
  }
  std::vector<std::uint32_t> offsets;
  offsets.reserve(paths.size());
  for (std::string& path : paths) {
    if (const auto offset = layouts_.offset_of(root, path)) {
      offsets.push_back(*offset);
      continue;
    }
    offsets.push_back(kFirstPhantom + static_cast<std::uint32_t>(phantoms_.size()));
    remarks_.push_back(
        fmt::format("{}: '{}' makes a node '{}' that no component declares", site.path(), expression, path));
    phantoms_.push_back(std::move(path));
  }
  return offsets;
}

void EndpointExpander::charge(std::size_t paths, const ExpressionSite& site) {
  if (paths > work_left_) {
    reader_.fail(site.position, site.path(), {},
                 "the endpoints of this file expand to more nodes than are accepted");
  }
  work_left_ -= paths;
}

void EndpointExpander::fail(std::string_view expression, const ExpressionSite& site, std::string expected,
                            std::string nearest) const {
  reader_.fail(site.position, site.path(), std::string{expression}, std::move(expected), std::move(nearest));
}

}  // namespace orrery::topology::infragraph
