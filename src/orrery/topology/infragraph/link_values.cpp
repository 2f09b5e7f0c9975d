// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/infragraph/link_values.hpp"

#include <algorithm>

#include "orrery/base/check.hpp"
#include "orrery/base/text.hpp"
#include "orrery/config/spec.hpp"

namespace orrery::topology {
namespace infragraph {

void LinkOverride::update(const LinkOverride& other) {
  if (other.bandwidth) bandwidth = other.bandwidth;
  if (other.latency) latency = other.latency;
  if (other.back_bandwidth) back_bandwidth = other.back_bandwidth;
  if (other.back_latency) back_latency = other.back_latency;
  if (other.is_half_duplex) is_half_duplex = other.is_half_duplex;
  if (other.cables) cables = other.cables;
}

Bandwidth from_lanes(std::string_view link, Bandwidth lane) {
  constexpr std::int64_t kPcieLanes = 16;
  constexpr std::int64_t kMost = INT64_MAX / kPcieLanes;
  const std::int64_t lanes = matches("*pcie*", link) ? kPcieLanes : 1;
  return Bandwidth::bits_per_second(std::min(lane.bits_per_second(), kMost) * lanes);
}

bool matches(std::string_view pattern, std::string_view name) {
  // Greedy with one point of return: the last star and how much of the name it has taken.
  std::size_t at = 0;
  std::size_t taken = 0;
  std::size_t star = std::string_view::npos;
  for (std::size_t i = 0; i < name.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = i;
    } else if (at < pattern.size() && pattern[at] == name[i]) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

LinkSpec LinkValues::resolve(const LinkUse& link, const LinkOverride& override) {
  std::optional<Bandwidth> bandwidth = override.bandwidth;
  std::optional<Duration> latency = override.latency;
  if (link.row != nullptr) {
    if (!bandwidth && link.row->bandwidth) {
      bandwidth = link.row->is_per_lane ? from_lanes(link.name, *link.row->bandwidth) : *link.row->bandwidth;
    }
    if (!latency) latency = link.row->latency;
  }
  for (const LinkDefault& row : options_.link_defaults) {
    if ((bandwidth && latency) || !matches(row.pattern, link.name)) continue;
    if (!bandwidth) bandwidth = row.bandwidth;
    if (!latency) latency = row.latency;
  }
  if (!bandwidth || !latency) {
    std::vector<std::string> missing;
    std::vector<std::string> assumed;
    if (!bandwidth) {
      missing.emplace_back("bandwidth"), assumed.push_back(orrery::to_text(options_.fallback_bandwidth));
    }
    if (!latency) {
      missing.emplace_back("latency"), assumed.push_back(orrery::to_text(options_.fallback_latency));
    }
    std::string remark =
        fmt::format("link '{}': neither the file nor the table of defaults gives its {}; {} assumed",
                    link.name, join(missing, " and "), join(assumed, " and "));
    if (std::ranges::find(remarks_, remark) == remarks_.end()) remarks_.push_back(std::move(remark));
  }
  return {.bandwidth = bandwidth.value_or(options_.fallback_bandwidth),
          .latency = latency.value_or(options_.fallback_latency)};
}

}  // namespace infragraph

namespace {

struct LinkDefaultSpec {
  std::string link;
  std::optional<Bandwidth> bandwidth;
  std::optional<Duration> latency;
  std::string source;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("link", &LinkDefaultSpec::link, "Name of the link; * matches any run of characters.",
          config::Rule{.required = true});
    field("bandwidth", &LinkDefaultSpec::bandwidth, "Of one direction.", config::Rule{.positive = true});
    field("latency", &LinkDefaultSpec::latency, "Of one crossing.");
    field("source", &LinkDefaultSpec::source, "Where the numbers come from.", config::Rule{.required = true});
  }
};

struct LinkDefaultsSpec {
  std::vector<LinkDefaultSpec> links;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("links", &LinkDefaultsSpec::links, "The first row whose name matches gives each value.",
          config::Rule{.required = true});
  }
};

}  // namespace

std::vector<LinkDefault> read_link_defaults(const config::Document& document) {
  std::vector<LinkDefault> rows;
  for (LinkDefaultSpec& row : config::read_spec<LinkDefaultsSpec>(config::Cursor{document}).links) {
    rows.push_back({.pattern = std::move(row.link), .bandwidth = row.bandwidth, .latency = row.latency});
  }
  return rows;
}

}  // namespace orrery::topology
