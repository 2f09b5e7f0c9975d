// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/infragraph/write_plan.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::topology::infragraph {
namespace {

/// InfraGraph's names have letters, digits, blanks and a few signs, but no dot.
std::string safe_name(std::string_view text) {
  std::string name{text};
  for (char& c : name) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!is_plain) c = '_';
  }
  return name.empty() ? "node" : name;
}

struct SplitName {
  std::string instance;       ///< Identity of the instance: "host[3]" or "host.3".
  std::string instance_name;  ///< "host".
  std::string component;      ///< "gpu"; nested parts are run together.
};

/// Reads both our names, "host[3].gpu[1]", and upstream's, "host.3.gpu.1".
SplitName split_name(const std::string& name) {
  const std::vector<std::string_view> words = split(name, '.');
  const bool is_upstream = words.size() >= 2 && parse_integer(words[1]).has_value();
  const std::size_t first = is_upstream ? 2 : 1;
  SplitName result;
  result.instance = is_upstream ? fmt::format("{}.{}", words[0], words[1]) : std::string{words[0]};
  result.instance_name = safe_name(words[0].substr(0, words[0].find('[')));
  for (std::size_t i = first; i < words.size(); i += is_upstream ? 2 : 1) {
    result.component +=
        (result.component.empty() ? "" : "_") + safe_name(words[i].substr(0, words[i].find('[')));
  }
  if (result.component.empty()) result.component = result.instance_name;
  return result;
}

/// Appends a number to a name that is taken.
class UniqueNames {
 public:
  std::string claim(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

struct DraftInstance {
  std::string name;
  PlannedDevice shape;  ///< Without a name: what makes two instances alike.
};

class Planner {
 public:
  explicit Planner(const Cluster& cluster) : graph_{cluster.graph} {}

  WritePlan run() {
    place_nodes();
    place_edges();
    share_devices();
    for (PlannedEnd& end : plan_.place_of) end = numbered(end);
    for (PlannedEdge& edge : plan_.edges) edge = {numbered(edge.a), numbered(edge.b), edge.link};
    return std::move(plan_);
  }

 private:
  // Until share_devices() has run, PlannedEnd::instance is the place in drafts_, and group is zero.
  void place_nodes() {
    std::unordered_map<std::string, std::uint32_t> draft_of;
    for (std::size_t node = 0; node < graph_.node_count(); ++node) {
      SplitName name = split_name(graph_.name(NodeId{node}));
      const NodeKind kind = graph_.kind(NodeId{node});
      const auto [draft, is_new] =
          draft_of.try_emplace(std::move(name.instance), static_cast<std::uint32_t>(drafts_.size()));
      if (is_new) drafts_.push_back({std::move(name.instance_name), {}});
      std::vector<PlannedComponent>& components = drafts_[draft->second].shape.components;
      const auto is_same = [&](const PlannedComponent& component) {
        return component.kind == kind && component.name == name.component;
      };
      auto component = std::ranges::find_if(components, is_same);
      if (component == components.end()) {
        const bool is_taken =
            std::ranges::find(components, name.component, &PlannedComponent::name) != components.end();
        if (is_taken) name.component += fmt::format("_{}", to_text(kind));
        component = std::ranges::find_if(components, is_same);
        if (component == components.end()) {
          component = components.insert(components.end(), {name.component, kind, 0});
        }
      }
      plan_.place_of.push_back(
          {0, draft->second, static_cast<std::uint32_t>(component - components.begin()), component->count++});
    }
  }

  void place_edges() {
    struct Bundle {
      Graph::Edge edge;
      std::uint32_t cables = 0;
    };
    std::vector<Bundle> bundles;
    std::unordered_map<std::uint64_t, std::size_t> bundle_of;
    for (const Graph::Edge& edge : graph_.edges()) {
      const std::uint32_t low = std::min(edge.a.value(), edge.b.value());
      const std::uint32_t high = std::max(edge.a.value(), edge.b.value());
      const auto [place, is_new] = bundle_of.try_emplace(std::uint64_t{low} << 32 | high, bundles.size());
      if (is_new) bundles.push_back({edge, 0});
      Bundle& bundle = bundles[place->second];
      ++bundle.cables;
      const bool is_turned = edge.a != bundle.edge.a;
      if (key_of(bundle.edge, 1) != key_of(is_turned ? turned(edge) : edge, 1)) {
        throw InputError{
            fmt::format("'{}' and '{}' are joined by parallel links of different values, which InfraGraph "
                        "cannot describe",
                        graph_.name(edge.a), graph_.name(edge.b))};
      }
    }
    for (const Bundle& bundle : bundles) {
      PlannedEnd a = plan_.place_of[bundle.edge.a.index()];
      PlannedEnd b = plan_.place_of[bundle.edge.b.index()];
      const std::uint32_t link = link_of(bundle.edge, bundle.cables);
      if (a.instance != b.instance) {
        plan_.edges.push_back({a, b, link});
        continue;
      }
      PlannedDevice& shape = drafts_[a.instance].shape;
      a.instance = b.instance = 0;
      shape.edges.push_back({a, b, link});
    }
  }

  static Graph::Edge turned(const Graph::Edge& edge) { return {edge.b, edge.a, edge.backward, edge.forward}; }

  using LinkKey = std::tuple<Bandwidth, Duration, Bandwidth, Duration, bool, std::uint32_t>;
  LinkKey key_of(const Graph::Edge& edge, std::uint32_t cables) const {
    const LinkSpec& spec = graph_.link(edge.forward);
    const LinkSpec& back = graph_.link(edge.backward);
    return {spec.bandwidth, spec.latency, back.bandwidth, back.latency, edge.forward == edge.backward,
            cables};
  }

  std::uint32_t link_of(const Graph::Edge& edge, std::uint32_t cables) {
    const auto next = static_cast<std::uint32_t>(plan_.links.size());
    const auto [place, is_new] = link_of_.try_emplace(key_of(edge, cables), next);
    if (is_new) {
      const bool is_half_duplex = edge.forward == edge.backward;
      plan_.links.push_back({graph_.link(edge.forward), graph_.link(edge.backward), is_half_duplex, cables});
    }
    return place->second;
  }

  void share_devices() {
    struct Less {
      bool operator()(const PlannedDevice* x, const PlannedDevice* y) const {
        const auto key = [](const PlannedComponent& component) {
          return std::tuple{component.name, component.kind, component.count};
        };
        const auto less = [&](const PlannedComponent& p, const PlannedComponent& q) {
          return key(p) < key(q);
        };
        if (x->components != y->components) {
          return std::ranges::lexicographical_compare(x->components, y->components, less);
        }
        return x->edges < y->edges;
      }
    };
    std::map<const PlannedDevice*, std::uint32_t, Less> device_of;
    std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> group_of;
    UniqueNames device_names;
    UniqueNames group_names;
    for (DraftInstance& draft : drafts_) {
      const auto [device, is_new_device] =
          device_of.try_emplace(&draft.shape, static_cast<std::uint32_t>(plan_.devices.size()));
      if (is_new_device) {
        plan_.devices.push_back(draft.shape);
        plan_.devices.back().name = device_names.claim(draft.name);
      }
      const auto [group, is_new_group] =
          group_of.try_emplace({draft.name, device->second}, static_cast<std::uint32_t>(plan_.groups.size()));
      if (is_new_group) plan_.groups.push_back({group_names.claim(draft.name), device->second, 0});
      numbers_.push_back({group->second, plan_.groups[group->second].count++, 0, 0});
    }
  }

  [[nodiscard]] PlannedEnd numbered(const PlannedEnd& end) const {
    const PlannedEnd& number = numbers_[end.instance];
    return {number.group, number.instance, end.component, end.index};
  }

  const Graph& graph_;
  WritePlan plan_;
  std::vector<DraftInstance> drafts_;
  std::vector<PlannedEnd> numbers_;  // Group and instance of each draft.
  std::map<LinkKey, std::uint32_t> link_of_;
};

}  // namespace

WritePlan plan_write(const Cluster& cluster) { return Planner{cluster}.run(); }

}  // namespace orrery::topology::infragraph
