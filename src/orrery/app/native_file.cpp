// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/native_file.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/topology/catalog_device.hpp"

namespace orrery::app {
namespace {

using topology::Cluster;
using topology::Graph;
using topology::LinkId;
using topology::NodeId;

/// A text in the quotes YAML and JSON share.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + "\"";
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Only letters, digits and underscores; begins with a letter.
std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (is_letter_or_digit(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (name.ends_with('_')) name.pop_back();
  return name.empty() || (name[0] >= '0' && name[0] <= '9') ? "n" + name : name;
}

class NativeWriter {
 public:
  explicit NativeWriter(const Cluster& cluster) : cluster_{cluster}, graph_{cluster.graph} {}

  std::string write() {
    add("name: {}\n", quoted(cluster_.name));
    if (!cluster_.nccl_platform.empty()) add("nccl_platform: {}\n", quoted(cluster_.nccl_platform));
    if (cluster_.switches_reduce) add("switches_reduce: true\n");
    name_devices();
    devices();
    nodes();
    links();
    groups();
    add("ranks:\n");
    for (const NodeId node : cluster_.ranks) add("  - {}\n", names_[node.index()]);
    if (!cluster_.events.empty() || !cluster_.jitter.empty()) find_parallel();
    events();
    jitter();
    return std::move(text_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  /// A name for each kind of device in use, and the kind of each node.
  void name_devices() {
    device_of_node_.assign(graph_.node_count(), -1);
    for (std::size_t rank = 0; rank < cluster_.ranks.size(); ++rank) {
      device_of_node_[cluster_.ranks[rank].index()] = static_cast<int>(cluster_.device_of_rank[rank]);
    }
    std::set<std::string> used;
    for (const topology::DeviceSpec& device : cluster_.devices) {
      std::string name = plain_name(device.name.empty() ? "device" : device.name);
      while (!used.insert(name).second) name += "_2";
      device_names_.push_back(std::move(name));
    }
  }

  void devices() {
    if (cluster_.devices.empty()) return;
    add("devices:\n");
    for (std::size_t i = 0; i < cluster_.devices.size(); ++i) {
      topology::DeviceFields fields;
      static_cast<topology::DeviceSpec&>(fields) = cluster_.devices[i];
      std::string values;
      const topology::DeviceFields defaults;
      topology::DeviceFields::value_fields(
          [&](const char* name, auto member, const char*, const config::Rule& = {}) {
            using T = std::remove_cvref_t<decltype(fields.*member)>;
            if (fields.*member == defaults.*member) return;
            values += fmt::format("{}{}: {}", values.empty() ? "" : ", ", name,
                                  config::Codec<T>::write(fields.*member));
          });
      add("  {}: {{{}}}\n", device_names_[i], values);
    }
  }

  /// "host[3].gpu[1]" as ("host_3_gpu", 1): neighbours that count up share one line.
  static std::pair<std::string, std::size_t> split_name(const std::string& name) {
    const std::size_t open = name.rfind('[');
    if (!name.ends_with(']') || open == std::string::npos) return {plain_name(name), 0};
    const auto index = parse_integer(std::string_view{name}.substr(open + 1, name.size() - open - 2));
    if (!index || *index < 0) return {plain_name(name), 0};
    return {plain_name(name.substr(0, open)), static_cast<std::size_t>(*index)};
  }

  void nodes() {
    add("nodes:\n");
    std::set<std::string> used;
    const auto is_same_kind = [&](std::size_t a, std::size_t b) {
      return graph_.kind(NodeId{a}) == graph_.kind(NodeId{b}) && device_of_node_[a] == device_of_node_[b];
    };
    for (std::size_t first = 0; first < graph_.node_count();) {
      auto [base, index] = split_name(graph_.name(NodeId{first}));
      if (index != 0 || used.contains(base)) base = plain_name(graph_.name(NodeId{first}));
      std::size_t end = first + 1;
      while (index == 0 && end < graph_.node_count() && is_same_kind(first, end) &&
             split_name(graph_.name(NodeId{end})) == std::pair{base, end - first}) {
        ++end;
      }
      while (!used.insert(base).second) base += "_2";
      std::string fields = fmt::format("kind: {}", topology::to_text(graph_.kind(NodeId{first})));
      if (end - first > 1) fields += fmt::format(", count: {}", end - first);
      if (device_of_node_[first] >= 0) {
        fields +=
            fmt::format(", device: {}", device_names_[static_cast<std::size_t>(device_of_node_[first])]);
      }
      add("  {}: {{{}}}\n", base, fields);
      for (std::size_t i = first; i < end; ++i) names_.push_back(fmt::format("{}[{}]", base, i - first));
      first = end;
    }
  }

  void links() {
    if (graph_.edges().empty()) return;
    add("links:\n");
    for (const Graph::Edge& edge : graph_.edges()) {
      const topology::LinkSpec& there = graph_.link(edge.forward);
      const topology::LinkSpec& back = graph_.link(edge.backward);
      add("  - {{between: \"{} - {}\", bandwidth: {}, latency: {}", names_[edge.a.index()],
          names_[edge.b.index()], to_text(there.bandwidth), to_text(there.latency));
      if (back.bandwidth != there.bandwidth) add(", back_bandwidth: {}", to_text(back.bandwidth));
      if (back.latency != there.latency) add(", back_latency: {}", to_text(back.latency));
      if (there.burst != Bytes{}) add(", burst: {}B", there.burst.count());
      if (edge.forward == edge.backward) add(", duplex: half");
      add("}}\n");
    }
  }

  void groups() {
    std::map<std::string, std::vector<std::string>> members;
    for (std::size_t i = 0; i < cluster_.node_group.size(); ++i) {
      if (!cluster_.node_group[i].empty()) members[cluster_.node_group[i]].push_back(names_[i]);
    }
    if (members.empty()) return;
    add("groups:\n");
    for (const auto& [group, names] : members) {
      add("  {}: [{}]\n", quoted(group), fmt::format("\"{}\"", fmt::join(names, "\", \"")));
    }
  }

  void find_parallel() {
    link_names_.resize(graph_.link_count());
    std::map<std::pair<NodeId, NodeId>, int> cables;
    for (const Graph::Edge& edge : graph_.edges()) ++cables[std::minmax(edge.a, edge.b)];
    for (const Graph::Edge& edge : graph_.edges()) {
      if (cables[std::minmax(edge.a, edge.b)] > 1) continue;
      link_names_[edge.backward.index()] =
          fmt::format("{} -> {}", names_[edge.b.index()], names_[edge.a.index()]);
      link_names_[edge.forward.index()] =
          fmt::format("{} -> {}", names_[edge.a.index()], names_[edge.b.index()]);
    }
  }
  [[nodiscard]] const std::string& link_name(LinkId link) const {
    const std::string& name = link_names_[link.index()];
    if (name.empty()) {
      throw InputError{
          fmt::format("{}: one of several parallel cables changes on its own, which a native file cannot say",
                      graph_.link_name(link))};
    }
    return name;
  }

  void events() {
    if (!cluster_.events.empty()) add("events:\n");
    for (const topology::LinkEvent& event : cluster_.events) {
      add("  - {{at: {}, link: \"{}\"", to_text(event.at.time_since_epoch()), link_name(event.link));
      if (event.bandwidth) add(", bandwidth: {}", to_text(*event.bandwidth));
      if (event.latency) add(", latency: {}", to_text(*event.latency));
      if (event.up) add(", state: {}", *event.up ? "up" : "down");
      add("}}\n");
    }
  }

  void jitter() {
    if (!cluster_.jitter.empty()) add("jitter:\n");
    for (const topology::LinkJitter& jitter : cluster_.jitter) {
      add("  {}: {}\n", link_name(jitter.link), to_text(jitter.amplitude));
    }
  }

  const Cluster& cluster_;
  const Graph& graph_;
  std::string text_;
  std::vector<int> device_of_node_;  // -1 = not said.
  std::vector<std::string> device_names_;
  std::vector<std::string> names_;       // Of each node, in the file.
  std::vector<std::string> link_names_;  // Of each link; "" when it is one of several parallel ones.
};

}  // namespace

std::string write_native(const Cluster& cluster) { return NativeWriter{cluster}.write(); }

}  // namespace orrery::app
