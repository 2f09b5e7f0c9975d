// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/infragraph/expand.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "orrery/base/check.hpp"
#include "orrery/topology/infragraph/endpoint.hpp"

namespace orrery::topology::infragraph {
namespace {

std::string join_path(const std::string& parent, std::string_view rest) {
  return parent.empty() ? std::string{rest} : fmt::format("{}.{}", parent, rest);
}

class Expander {
 public:
  Expander(const Infrastructure& infrastructure, const Layouts& layouts, const Reader& reader,
           const InfraGraphOptions& options)
      : infrastructure_{infrastructure},
        layouts_{layouts},
        reader_{reader},
        options_{options},
        endpoints_{layouts, reader, options.max_edges},
        pairs_left_{options.max_edges},
        ends_left_{kEndsPerPair * std::uint64_t{options.max_edges}} {}

  Expansion run() {
    place_instances();
    for (const Device& device : infrastructure_.devices) {
      expand_device(device);
    }
    count_instance_edges();
    for (const InstanceBlock& block : result_.instances) {
      if (total_edges_[static_cast<std::size_t>(block.device)] == 0) continue;
      const std::uint32_t size = layouts_[block.device].size;
      for (std::uint32_t i = 0; i < block.count; ++i) {
        emit(block.device, block.base + i * size, fmt::format("{}.{}", block.name, i));
      }
    }
    expand_infrastructure();
    conflicts_ += merge_parallel(result_.edges);
    if (conflicts_ > 0) {
      result_.remarks.push_back("some pairs of nodes are joined by several links; the last one counts");
    }
    for (const std::string& remark : endpoints_.remarks()) result_.remarks.push_back(remark);
    return std::move(result_);
  }

 private:
  using Nodes = std::vector<std::uint32_t>;
  /// A short list joined to the first few of a long one is expanded in full: allow for some of that.
  static constexpr std::uint64_t kEndsPerPair = 16;
  using LinkIds = std::unordered_map<std::string_view, std::uint32_t>;

  void place_instances() {
    std::uint64_t total = 0;
    for (const Instance& instance : infrastructure_.instances) {
      const std::int32_t device = layouts_.index_of(instance.device);
      const std::string path = join_path(infrastructure_.path, "instances");
      if (device < 0) {
        reader_.fail(instance.position, path, std::string{instance.device},
                     fmt::format("instance '{}' is of a device that is not described", instance.name),
                     nearest_name(instance.device, layouts_.device_names()));
      }
      block_of_.emplace(instance.name, result_.instances.size());
      result_.instances.push_back({instance.name, device, instance.count, static_cast<std::uint32_t>(total)});
      total += std::uint64_t{instance.count} * layouts_[device].size;
      if (total > options_.max_nodes) {
        reader_.fail(instance.position, path, std::string{instance.name},
                     fmt::format("more than the {} nodes that are accepted", options_.max_nodes));
      }
    }
    if (total == 0) {
      reader_.fail(reader_.document.root().position, join_path(infrastructure_.path, "instances"), {},
                   "the file describes no node: it needs instances of devices that have components");
    }
    result_.declared = static_cast<std::uint32_t>(total);
  }

  void expand_device(const Device& device) {
    const LinkIds links = add_links(device.links);
    const std::string list = join_path(device.path, "edges");
    own_edges_.emplace_back();
    const std::int32_t index = layouts_.index_of(device.name);
    for (std::size_t i = 0; i < device.edges.size(); ++i) {
      const EdgeRow& row = device.edges[i];
      const auto site = [&](const Endpoint& end, const char* name) {
        return ExpressionSite{end.position, [&device, i, name] {
                                return join_path(device.path, fmt::format("edges[{}].{}.component", i, name));
                              }};
      };
      // The optional `device` is the first step of the path.
      const auto nodes = [&](const Endpoint& end, const char* name) -> const Nodes& {
        if (end.owner.empty()) return endpoints_.expand(index, end.component, site(end, name));
        texts_.push_back(std::make_unique<std::string>(fmt::format("{}.{}", end.owner, end.component)));
        return endpoints_.expand(index, *texts_.back(), site(end, name));
      };
      const EdgeSite edge{row, list, i};
      const std::uint32_t link = link_id(links, edge, device.links);
      pair_up(reader_, edge, nodes(row.ep1, "ep1"), nodes(row.ep2, "ep2"), link, pairs_left_,
              own_edges_.back());
    }
    conflicts_ += merge_parallel(own_edges_.back());
  }

  void expand_infrastructure() {
    const LinkIds links = add_links(infrastructure_.links);
    const std::string list = join_path(infrastructure_.path, "edges");
    Nodes first;
    Nodes second;
    for (std::size_t i = 0; i < infrastructure_.edges.size(); ++i) {
      const EdgeRow& row = infrastructure_.edges[i];
      instance_nodes(row.ep1, "ep1", i, first);
      instance_nodes(row.ep2, "ep2", i, second);
      const EdgeSite edge{row, list, i};
      const std::uint32_t link = link_id(links, edge, infrastructure_.links);
      pair_up(reader_, edge, first, second, link, pairs_left_, result_.edges);
    }
  }

  /// Instances are the slow index, their components the fast one.
  void instance_nodes(const Endpoint& end, const char* name, std::size_t edge, Nodes& nodes) {
    nodes.clear();
    const auto site = [&](const char* key) {
      return ExpressionSite{end.position, [this, edge, name, key] {
                              return join_path(infrastructure_.path,
                                               fmt::format("edges[{}].{}.{}", edge, name, key));
                            }};
    };
    const Token token = parse_token(end.owner);
    const auto found = block_of_.find(token.name.substr(0, token.name.find('.')));
    if (found == block_of_.end()) {
      std::vector<std::string> names;
      for (const InstanceBlock& block : result_.instances) names.emplace_back(block.name);
      reader_.fail(end.position, site("instance").path(), std::string{end.owner},
                   fmt::format("there is no instance '{}'", token.name), nearest_name(token.name, names));
    }
    const InstanceBlock& block = result_.instances[found->second];
    const Indices chosen = endpoints_.indices(end.owner, block.count, site("instance"));
    const Nodes& offsets = endpoints_.expand(block.device, end.component, site("component"));
    const std::uint64_t ends = static_cast<std::uint64_t>(chosen.size) * offsets.size();
    if (ends > ends_left_) {
      reader_.fail(end.position, site("instance").path(), {},
                   "the endpoints of this file expand to more nodes than are accepted");
    }
    ends_left_ -= ends;
    const std::uint32_t size = layouts_[block.device].size;
    for (std::int64_t i = 0; i < chosen.size; ++i) {
      const std::int64_t index = chosen[i];
      const bool exists = index >= 0 && index < block.count;
      for (const std::uint32_t offset : offsets) {
        if (exists && offset < kFirstPhantom) {
          nodes.push_back(block.base + static_cast<std::uint32_t>(index) * size + offset);
        } else {
          const std::string rest =
              offset < kFirstPhantom ? layouts_.path_of(block.device, offset) : endpoints_.phantom(offset);
          nodes.push_back(phantom_node(fmt::format("{}.{}.{}", block.name, index, rest)));
        }
      }
    }
  }

  std::uint32_t phantom_node(std::string name) {
    const auto [place, is_new] =
        phantom_of_.try_emplace(name, static_cast<std::uint32_t>(result_.node_count()));
    if (is_new) result_.phantoms.push_back(std::move(name));
    return place->second;
  }

  LinkIds add_links(const std::vector<LinkRow>& rows) {
    LinkIds ids;
    for (const LinkRow& row : rows) {
      ids.emplace(row.name, static_cast<std::uint32_t>(result_.links.size()));
      result_.links.push_back({row.name, &row});
    }
    return ids;
  }

  std::uint32_t link_id(const LinkIds& declared, const EdgeSite& edge, const std::vector<LinkRow>& rows) {
    const EdgeRow& row = edge.row;
    if (const auto found = declared.find(row.link); found != declared.end()) return found->second;
    if (!reader_.lenient) {
      std::vector<std::string> names;
      for (const LinkRow& link : rows) names.emplace_back(link.name);
      reader_.fail(row.position, fmt::format("{}[{}].link", edge.list, edge.index), std::string{row.link},
                   "this link is not declared beside these edges", nearest_name(row.link, names));
    }
    const auto [place, is_new] =
        undeclared_.try_emplace(row.link, static_cast<std::uint32_t>(result_.links.size()));
    if (is_new) result_.links.push_back({row.link, nullptr});
    return place->second;
  }

  /// Total of each device with what it contains, then of all instances, before any is emitted.
  void count_instance_edges() {
    total_edges_.assign(own_edges_.size(), -1);
    const auto count = [&](const auto& self, std::int32_t device) -> std::int64_t {
      std::int64_t& sum = total_edges_[static_cast<std::size_t>(device)];
      if (sum >= 0) return sum;
      sum = static_cast<std::int64_t>(own_edges_[static_cast<std::size_t>(device)].size());
      const auto cap = static_cast<std::int64_t>(options_.max_edges) + 1;
      for (const Part& part : layouts_[device].parts) {
        if (part.device >= 0) sum = std::min(cap, sum + part.count * self(self, part.device));
      }
      return sum;
    };
    std::uint64_t edges = 0;
    for (std::size_t i = 0; i < result_.instances.size(); ++i) {
      const InstanceBlock& block = result_.instances[i];
      edges += std::uint64_t{block.count} * static_cast<std::uint64_t>(count(count, block.device));
      if (edges > options_.max_edges) {
        fail_edges(infrastructure_.instances[i].position, join_path(infrastructure_.path, "instances"));
      }
    }
    result_.edges.reserve(edges);
  }

  void emit(std::int32_t device, std::uint32_t base, const std::string& name) {
    const auto node = [&](std::uint32_t offset) {
      return offset < kFirstPhantom ? base + offset
                                    : phantom_node(fmt::format("{}.{}", name, endpoints_.phantom(offset)));
    };
    for (const ExpandedEdge& edge : own_edges_[static_cast<std::size_t>(device)]) {
      result_.edges.push_back({node(edge.a), node(edge.b), edge.link});
    }
    for (const Part& part : layouts_[device].parts) {
      if (part.device < 0 || total_edges_[static_cast<std::size_t>(part.device)] == 0) continue;
      for (std::uint32_t i = 0; i < part.count; ++i) {
        emit(part.device, base + part.offset + i * part.stride, fmt::format("{}.{}.{}", name, part.name, i));
      }
    }
  }

  [[noreturn]] void fail_edges(Position position, std::string path) const {
    reader_.fail(position, std::move(path), {},
                 fmt::format("more than the {} edges that are accepted", options_.max_edges));
  }

  const Infrastructure& infrastructure_;
  const Layouts& layouts_;
  const Reader& reader_;
  const InfraGraphOptions& options_;
  EndpointExpander endpoints_;
  std::size_t pairs_left_;
  std::uint64_t ends_left_;
  Expansion result_;
  std::vector<std::vector<ExpandedEdge>> own_edges_;  // Of each device by offset, without what it contains.
  std::vector<std::unique_ptr<std::string>> texts_;   // Of expressions put together here.
  std::unordered_map<std::string_view, std::size_t> block_of_;
  std::vector<std::int64_t> total_edges_;  // Of each device with what it contains.
  std::size_t conflicts_ = 0;
  LinkIds undeclared_;
  std::unordered_map<std::string, std::uint32_t> phantom_of_;
};

}  // namespace

Expansion expand(const Infrastructure& infrastructure, const Layouts& layouts, const Reader& reader,
                 const InfraGraphOptions& options) {
  return Expander{infrastructure, layouts, reader, options}.run();
}

}  // namespace orrery::topology::infragraph
