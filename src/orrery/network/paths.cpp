// SPDX-License-Identifier: Apache-2.0
#include "orrery/network/paths.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace orrery::network {

Paths::Paths(const NetworkContext& context) : router_{context.router} {
  const topology::Graph& graph = router_.graph();
  links_.reserve(graph.link_count());
  for (std::size_t i = 0; i < graph.link_count(); ++i) {
    const topology::LinkSpec& spec = graph.link(topology::LinkId{i});
    links_.push_back({spec.bandwidth, spec.latency, true});
  }
  if (context.jitter.empty()) return;
  jitter_of_.assign(links_.size(), -1);
  for (const topology::LinkJitter& jitter : context.jitter) {
    jitter_of_[jitter.link.index()] = static_cast<std::int32_t>(jitters_.size());
    jitters_.push_back({jitter.amplitude, Rng{context.seed, graph.link_name(jitter.link), "jitter"}});
  }
}

void Paths::refresh(topology::RouteId route) {
  if (route.index() >= paths_.size()) paths_.resize(route.index() + 1);
  Path& path = paths_[route.index()];
  if (path.epoch == 0) {
    const std::span<const topology::LinkId> links = router_.links(route);
    path.first = static_cast<std::uint32_t>(pool_.size());
    path.count = static_cast<std::uint32_t>(links.size());
    for (const topology::LinkId link : links) {
      pool_.push_back(link.value());
      path.has_jitter = path.has_jitter || (!jitter_of_.empty() && jitter_of_[link.index()] >= 0);
    }
  }
  path.epoch = epoch_;
  path.latency = Duration{};
  path.bottleneck =
      path.count == 0 ? Bandwidth{} : Bandwidth::bits_per_second(std::numeric_limits<std::int64_t>::max());
  for (const std::uint32_t link : links(path)) {
    path.latency += links_[link].latency;
    path.bottleneck = std::min(path.bottleneck, links_[link].up ? links_[link].bandwidth : Bandwidth{});
  }
  const auto bits = static_cast<std::uint64_t>(path.bottleneck.bits_per_second());
  if (bits == 0 || path.count == 0) return;
  constexpr std::uint64_t kBitPicosecondsPerByte = 8'000'000'000'000;
  const std::uint64_t common = std::gcd(kBitPicosecondsPerByte, bits);
  path.ps_per_byte_num = kBitPicosecondsPerByte / common;
  path.ps_per_byte_den = bits / common;
  path.fast_limit = (std::uint64_t{1} << 62) / std::max(path.ps_per_byte_num, path.ps_per_byte_den);
}

void Paths::change_link(topology::LinkId link, const LinkState& state) {
  links_[link.index()] = state;
  ++epoch_;  // Every cached route is checked again when next used.
}

Duration Paths::draw_jitter(const Path& path) {
  Duration sum{};
  for (const std::uint32_t link : links(path)) {
    if (jitter_of_[link] < 0) continue;
    Jitter& jitter = jitters_[static_cast<std::size_t>(jitter_of_[link])];
    sum += Duration{jitter.rng.between(0, jitter.amplitude.count())};
  }
  return sum;
}

std::vector<LinkCounters> Paths::counters() const {
  std::vector<LinkCounters> counters(links_.size());
  for (const Path& path : paths_) {
    for (const std::uint32_t link : links(path)) {
      counters[link].messages += path.messages;
      counters[link].bytes += Bytes{path.bytes};
    }
  }
  return counters;
}

}  // namespace orrery::network
