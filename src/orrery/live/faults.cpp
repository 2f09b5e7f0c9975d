// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/faults.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <optional>

#include "orrery/config/spec.hpp"

namespace orrery::live {
namespace {

using topology::LinkEvent;
using topology::LinkId;

struct FaultSpec {
  Duration at{};
  std::optional<std::int64_t> crash;
  std::optional<std::int64_t> slow;
  std::optional<double> by;
  std::optional<std::string> link;
  std::optional<Bandwidth> bandwidth;
  std::optional<Duration> latency;
  std::optional<std::string> state;
  std::optional<Duration> lasts;
  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    field("at", &FaultSpec::at, "When.", Rule{.required = true});
    field("crash", &FaultSpec::crash, "A rank that ends without a word.", Rule{.min = 0, .max = 1e6});
    field("slow", &FaultSpec::slow, "A rank that computes more slowly.", Rule{.min = 0, .max = 1e6});
    field("by", &FaultSpec::by, "Factor of its computing time.", Rule{.min = 1e-3, .max = 1e6});
    field("link", &FaultSpec::link, "\"A - B\", or \"A -> B\" for one direction; * stands for anything.");
    field("bandwidth", &FaultSpec::bandwidth, "Of the link from now on.", Rule{.positive = true});
    field("latency", &FaultSpec::latency, "Of the link from now on.");
    field("state", &FaultSpec::state, "down: no bytes pass; up: they do again.",
          Rule{.choices = {"up", "down"}});
    field("for", &FaultSpec::lasts, "After this everything is as before; absent = for good.",
          Rule{.positive = true});
  }
};

std::uint32_t rank_of(const config::Cursor& at, const char* key, std::int64_t rank,
                      const topology::Cluster& cluster) {
  if (static_cast<std::size_t>(rank) >= cluster.ranks.size()) {
    at.at(key).fail(fmt::format("cluster '{}' has ranks 0 to {}", cluster.name, cluster.ranks.size() - 1));
  }
  return static_cast<std::uint32_t>(rank);
}

/// The pattern as given, with brackets meaning themselves.
std::string literal_brackets(const std::string& pattern) {
  std::string text;
  for (const char c : pattern) {
    if (c == '[' || c == ']') text += '\\';
    text += c;
  }
  return text;
}

std::string trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return std::string{text};
}

std::vector<LinkId> links_of(const config::Cursor& at, const std::string& pattern,
                             const topology::Graph& graph) {
  const std::size_t arrow = pattern.find("->");
  const std::size_t dash = arrow == std::string::npos ? pattern.find(" - ") : std::string::npos;
  if (arrow == std::string::npos && dash == std::string::npos) {
    at.at("link").fail("expected two ends: \"A - B\" or \"A -> B\"");
  }
  const std::size_t cut = arrow == std::string::npos ? dash : arrow;
  const std::string from = literal_brackets(trimmed(std::string_view{pattern}.substr(0, cut)));
  const std::string to =
      literal_brackets(trimmed(std::string_view{pattern}.substr(cut + (arrow == std::string::npos ? 3 : 2))));
  const auto is_match = [&](const std::string& glob, topology::NodeId node) {
    const std::string name{graph.name(node)};
    if (::fnmatch(glob.c_str(), name.c_str(), 0) == 0) return true;
    // As in a cluster's file, a name without a number stands for all of them.
    return name.ends_with(']') && ::fnmatch(glob.c_str(), name.substr(0, name.rfind('[')).c_str(), 0) == 0;
  };
  std::vector<LinkId> links;
  const auto add = [&](LinkId link) {
    if (std::ranges::find(links, link) == links.end()) links.push_back(link);
  };
  for (const topology::Graph::Edge& edge : graph.edges()) {
    const bool is_there = is_match(from, edge.a) && is_match(to, edge.b);
    const bool is_back = is_match(from, edge.b) && is_match(to, edge.a);
    const bool is_both = arrow == std::string::npos && (is_there || is_back);
    if (is_there || is_both) add(edge.forward);
    if (is_back || is_both) add(edge.backward);
  }
  if (links.empty()) {
    at.at("link").fail("the cluster has no such link; `orrery cluster show --json` lists them");
  }
  return links;
}

void add_link_fault(const config::Cursor& at, const FaultSpec& spec, const topology::Cluster& cluster,
                    Faults& faults) {
  if (!spec.bandwidth && !spec.latency && !spec.state) {
    at.fail("expected a change: bandwidth, latency or state");
  }
  for (const LinkId link : links_of(at, *spec.link, cluster.graph)) {
    LinkEvent event{
        .at = Time{spec.at}, .link = link, .bandwidth = spec.bandwidth, .latency = spec.latency, .up = {}};
    if (spec.state) event.up = *spec.state == "up";
    faults.links.push_back(event);
    if (!spec.lasts) continue;
    const topology::LinkSpec& described = cluster.graph.link(link);
    event.at = saturating_add(Time{spec.at}, *spec.lasts);
    if (spec.bandwidth) event.bandwidth = described.bandwidth;
    if (spec.latency) event.latency = described.latency;
    if (event.up) event.up = !*event.up;
    faults.links.push_back(event);
  }
}

}  // namespace

Faults read_faults(const std::string& path, const topology::Cluster& cluster) {
  const config::Document document = config::Document::load(path);
  const config::Cursor root{document};
  Faults faults;
  for (std::size_t i = 0; i < root.size(); ++i) {
    const config::Cursor at = root.item(i);
    const auto spec = config::read_spec<FaultSpec>(at);
    const int kinds = (spec.crash ? 1 : 0) + (spec.slow ? 1 : 0) + (spec.link ? 1 : 0);
    if (kinds != 1) at.fail("expected exactly one of: crash, slow, link");
    if (spec.slow && !spec.by) at.fail("required key 'by' is missing: how many times slower");
    if (spec.link) {
      add_link_fault(at, spec, cluster, faults);
    } else if (spec.crash) {
      const std::uint32_t rank = rank_of(at, "crash", *spec.crash, cluster);
      faults.ranks.push_back({.at = Time{spec.at}, .rank = rank, .is_crash = true});
    } else {
      const std::uint32_t rank = rank_of(at, "slow", *spec.slow, cluster);
      faults.ranks.push_back({.at = Time{spec.at}, .rank = rank, .factor = *spec.by});
      if (spec.lasts) {
        faults.ranks.push_back(
            {.at = saturating_add(Time{spec.at}, *spec.lasts), .rank = rank, .factor = 1.0});
      }
    }
  }
  std::ranges::stable_sort(faults.ranks, {}, &RankFault::at);
  std::ranges::stable_sort(faults.links, {}, &LinkEvent::at);
  return faults;
}

FaultClock::FaultClock(engine::Engine& engine, const std::vector<RankFault>& faults, std::uint32_t world,
                       Target& target)
    : faults_{faults}, target_{target} {
  const engine::OriginId origin = engine.add_origin("faults");
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (faults_[i].rank < world) engine.schedule(faults_[i].at, engine::Phase::kLinkChange, origin, *this, i);
  }
}

void FaultClock::on_event(std::uint64_t payload) {
  const RankFault& fault = faults_[payload];
  if (fault.is_crash) {
    target_.crash(fault.rank);
  } else {
    target_.slow(fault.rank, fault.factor);
  }
}

}  // namespace orrery::live
