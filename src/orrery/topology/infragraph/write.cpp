// SPDX-License-Identifier: Apache-2.0
// A planned cluster as YAML text. Edges that go on as the one before ("gpu[0]" to "nic[0]", "gpu[1]" to "nic[1]")
// are written as one line of slices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "orrery/base/text.hpp"
#include "orrery/topology/infragraph/infragraph.hpp"
#include "orrery/topology/infragraph/write_plan.hpp"

namespace orrery::topology {
namespace {

using namespace infragraph;

/// `units` of 1/scale (a power of ten) as a decimal without trailing zeros: exact, unlike a division in floating
/// point.
std::string decimal(std::int64_t units, std::int64_t scale) {
  std::string text = fmt::format("{}", units / scale);
  const char* separator = ".";
  for (std::int64_t rest = units % scale; rest != 0; rest %= scale) {
    scale /= 10;
    text += fmt::format("{}{}", separator, rest / scale);
    separator = "";
  }
  return text;
}

/// Names are made of plain letters already; those that YAML would take for something else get quotes.
std::string yaml_name(const std::string& name) {
  static constexpr std::array<std::string_view, 9> kWords{"null", "true", "false", "yes", "no",
                                                          "on",   "off",  "y",     "n"};
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  const bool is_letter_first = lower.front() >= 'a' && lower.front() <= 'z';
  const bool is_word = std::ranges::find(kWords, lower) != kWords.end();
  return is_letter_first && !is_word ? name : fmt::format("\"{}\"", name);
}

/// InfraGraph's word for a kind: ours, but for two.
std::string_view choice_of(NodeKind kind) {
  if (kind == NodeKind::kDevice) return "xpu";
  return kind == NodeKind::kOther ? "custom" : to_text(kind);
}

/// Several edges in a row: how each index moves from one to the next (0 or 1).
struct Run {
  PlannedEdge first;
  std::uint32_t count = 1;
  std::array<std::uint32_t, 4> step{};  // Of a.instance, a.index, b.instance, b.index.
};

/// The step from `edge` to `next`, if slices can say it: each end stands still or moves in one index by one.
bool follows(const PlannedEdge& edge, const PlannedEdge& next, std::array<std::uint32_t, 4>& step) {
  if (edge.link != next.link || edge.a.group != next.a.group || edge.b.group != next.b.group ||
      edge.a.component != next.a.component || edge.b.component != next.b.component) {
    return false;
  }
  step = {next.a.instance - edge.a.instance, next.a.index - edge.a.index, next.b.instance - edge.b.instance,
          next.b.index - edge.b.index};
  const bool is_short = std::ranges::all_of(step, [](std::uint32_t d) { return d <= 1; });
  const bool is_one_way = step[0] + step[1] <= 1 && step[2] + step[3] <= 1;
  return is_short && is_one_way && step != std::array<std::uint32_t, 4>{};
}

std::vector<Run> compressed(const std::vector<PlannedEdge>& edges) {
  std::vector<Run> runs;
  const PlannedEdge* last = nullptr;
  for (const PlannedEdge& edge : edges) {
    std::array<std::uint32_t, 4> step{};
    if (last != nullptr && follows(*last, edge, step) &&
        (runs.back().count == 1 || runs.back().step == step)) {
      runs.back().step = step;
      ++runs.back().count;
    } else {
      runs.push_back({edge, 1, {}});
    }
    last = &edge;
  }
  return runs;
}

std::string sliced(const std::string& name, std::uint32_t first, std::uint32_t step, std::uint32_t count) {
  return step == 0 || count == 1 ? fmt::format("{}[{}]", name, first)
                                 : fmt::format("{}[{}:{}]", name, first, first + count);
}

class Writer {
 public:
  explicit Writer(const Cluster& cluster) : cluster_{cluster}, plan_{plan_write(cluster)} {}

  std::string run() {
    const bool has_annotations = needs_ranks() || std::ranges::any_of(plan_.links, is_annotated);
    const std::string indent = has_annotations ? "  " : "";
    if (has_annotations) line("", "infrastructure:");
    line(indent, "name: \"{}\"", printable(cluster_.name));
    line(indent, "devices:");
    for (const PlannedDevice& device : plan_.devices) write_device(indent, device);
    line(indent, "instances:");
    for (const PlannedGroup& group : plan_.groups) {
      line(indent, "- {{name: {}, device: {}, count: {}}}", yaml_name(group.name),
           yaml_name(plan_.devices[group.device].name), group.count);
    }
    write_links(indent, plan_.edges);
    write_edges(indent, plan_.edges, nullptr);
    if (has_annotations) write_annotations();
    return std::move(text_);
  }

 private:
  template <class... Values>
  void line(std::string_view indent, fmt::format_string<Values...> format, Values&&... values) {
    text_ += indent;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }

  static std::string printable(const std::string& name) {
    std::string text = name.empty() ? "cluster" : name;
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 32 || c > 126 || c == '"' || c == '\\'; }, '_');
    return text;
  }

  static bool is_annotated(const PlannedLink& link) { return !attributes_of(link).empty(); }

  /// What only an annotation can say.
  static std::string attributes_of(const PlannedLink& link) {
    std::string list;
    const auto add = [&](std::string_view attribute, const std::string& value) {
      list += fmt::format("{}{{attribute: {}, value: \"{}\"}}", list.empty() ? "" : ", ", attribute, value);
    };
    if (link.is_half_duplex) add("duplex", "half");
    if (link.cables > 1) add("cables", fmt::format("{}", link.cables));
    if (link.back.bandwidth != link.spec.bandwidth) {
      add("back_bandwidth", fmt::format("{} bps", link.back.bandwidth.bits_per_second()));
    }
    if (link.back.latency != link.spec.latency) {
      add("back_latency", fmt::format("{} ps", link.back.latency.count()));
    }
    return list;
  }

  void write_device(const std::string& indent, const PlannedDevice& device) {
    line(indent, "- name: {}", yaml_name(device.name));
    line(indent, "  components:");
    for (const PlannedComponent& component : device.components) {
      const std::string_view choice = choice_of(component.kind);
      line(indent, "  - {{name: {}, count: {}, choice: {}{}}}", yaml_name(component.name), component.count,
           choice, choice == "custom" ? ", custom: {type: other}" : "");
    }
    write_links(indent + "  ", device.edges);
    write_edges(indent + "  ", device.edges, &device);
  }

  void write_links(const std::string& indent, const std::vector<PlannedEdge>& edges) {
    std::vector<char> is_used(plan_.links.size(), 0);
    for (const PlannedEdge& edge : edges) is_used[edge.link] = 1;
    if (edges.empty()) return line(indent, "links: []");
    line(indent, "links:");
    for (std::size_t i = 0; i < is_used.size(); ++i) {
      if (is_used[i] == 0) continue;
      const LinkSpec& spec = plan_.links[i].spec;
      line(indent, "- name: link_{}", i);
      line(indent, "  physical:");
      line(indent, "    bandwidth: {{choice: gigabits_per_second, gigabits_per_second: {}}}",
           decimal(spec.bandwidth.bits_per_second(), 1'000'000'000));
      line(indent, "    latency: {{choice: ns, ns: {}}}", decimal(spec.latency.count(), 1'000));
    }
  }

  /// Without a device the edges are those between instances.
  void write_edges(const std::string& indent, const std::vector<PlannedEdge>& edges,
                   const PlannedDevice* device) {
    if (edges.empty()) return line(indent, "edges: []");
    line(indent, "edges:");
    for (const Run& run : compressed(edges)) {
      const auto end = [&](const PlannedEnd& at, std::uint32_t instance_step, std::uint32_t index_step) {
        const PlannedGroup& group = plan_.groups[at.group];
        const PlannedDevice& owner = device != nullptr ? *device : plan_.devices[group.device];
        std::string component = fmt::format("component: \"{}\"", sliced(owner.components[at.component].name,
                                                                        at.index, index_step, run.count));
        if (device != nullptr) return component;
        return fmt::format("instance: \"{}\", {}", sliced(group.name, at.instance, instance_step, run.count),
                           component);
      };
      const bool moves_both = run.step[0] + run.step[1] == run.step[2] + run.step[3];
      line(indent, "- ep1: {{{}}}", end(run.first.a, run.step[0], run.step[1]));
      line(indent, "  ep2: {{{}}}", end(run.first.b, run.step[2], run.step[3]));
      line(indent, "  scheme: {}", moves_both ? "one2one" : "many2many");
      line(indent, "  link: link_{}", run.first.link);
    }
  }

  /// Ranks are written unless they are what a reader assumes: every xpu in order.
  [[nodiscard]] bool needs_ranks() const {
    std::vector<PlannedEnd> xpus;
    for (std::size_t node = 0; node < plan_.place_of.size(); ++node) {
      if (cluster_.graph.kind(NodeId{node}) == NodeKind::kDevice) xpus.push_back(plan_.place_of[node]);
    }
    std::ranges::sort(xpus);
    return !std::ranges::equal(cluster_.ranks, xpus, [&](NodeId rank, const PlannedEnd& xpu) {
      return plan_.place_of[rank.index()] == xpu;
    });
  }

  void write_annotations() {
    line("", "annotations:");
    if (needs_ranks() && !cluster_.ranks.empty()) {
      std::vector<std::string> ranks(plan_.place_of.size());
      for (std::size_t rank = 0; rank < cluster_.ranks.size(); ++rank) {
        std::string& list = ranks[cluster_.ranks[rank].index()];
        list += fmt::format("{}{}", list.empty() ? "" : ",", rank);
      }
      line("  ", "nodes:");
      for (std::size_t node = 0; node < ranks.size(); ++node) {
        if (ranks[node].empty()) continue;
        const PlannedEnd& place = plan_.place_of[node];
        const PlannedGroup& group = plan_.groups[place.group];
        const std::string& component = plan_.devices[group.device].components[place.component].name;
        line("  ", "- name: \"{}.{}.{}.{}\"", group.name, place.instance, component, place.index);
        line("  ", "  attributes: [{{attribute: rank, value: \"{}\"}}]", ranks[node]);
      }
    }
    const auto has_links = std::ranges::any_of(plan_.links, is_annotated);
    if (has_links) line("  ", "links:");
    for (std::size_t i = 0; i < plan_.links.size(); ++i) {
      if (!is_annotated(plan_.links[i])) continue;
      line("  ", "- name: link_{}", i);
      line("  ", "  attributes: [{}]", attributes_of(plan_.links[i]));
    }
  }

  const Cluster& cluster_;
  const WritePlan plan_;
  std::string text_;
};

}  // namespace

std::string write_infragraph(const Cluster& cluster) { return Writer{cluster}.run(); }

}  // namespace orrery::topology
