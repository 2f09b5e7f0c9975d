// SPDX-License-Identifier: Apache-2.0
#include "orrery/network/paths.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace orrery::network {

Paths::Paths(const NetworkContext& context) : router_{context.router} {
  const topology::Graph& graph = router_.graph();
  links_.reserve(graph.link_count());
  speeds_.reserve(graph.link_count());
  for (std::size_t i = 0; i < graph.link_count(); ++i) {
    const topology::LinkSpec& spec = graph.link(topology::LinkId{i});
    links_.push_back({spec.bandwidth, spec.latency, true});
    speeds_.push_back(speed_of(links_.back()));
  }
  if (context.jitter.empty()) return;
  jitter_of_.assign(links_.size(), -1);
  for (const topology::LinkJitter& jitter : context.jitter) {
    jitter_of_[jitter.link.index()] = static_cast<std::int32_t>(jitters_.size());
    jitters_.push_back({jitter.amplitude, Rng{context.seed, graph.link_name(jitter.link), "jitter"}});
  }
}

void Paths::refresh(topology::RouteId route) {
  while (paths_.size() <= route.index()) paths_.emplace_back();
  Path& path = paths_[route.index()];
  if (path.epoch == 0) {
    const std::span<const topology::LinkId> links = router_.links(route);
    path.first = static_cast<std::uint32_t>(pool_.size());
    path.count = static_cast<std::uint32_t>(links.size());
    for (const topology::LinkId link : links) pool_.push_back(link.value());
  }
  path.epoch = epoch_;
  path.latency = Duration{};
  if (path.count > 0) path.slowest = pool_[path.first];
  for (const std::uint32_t link : links(path)) {
    path.latency += links_[link].latency;
    if (speeds_[link].bandwidth < speeds_[path.slowest].bandwidth) path.slowest = link;
  }
}

Paths::Speed Paths::speed_of(const LinkState& state) {
  Speed speed;
  if (!state.up || state.bandwidth == Bandwidth{}) return speed;
  speed.bandwidth = state.bandwidth;
  constexpr std::uint64_t kBitPicosecondsPerByte = 8'000'000'000'000;
  const auto bits = static_cast<std::uint64_t>(state.bandwidth.bits_per_second());
  const std::uint64_t common = std::gcd(kBitPicosecondsPerByte, bits);
  speed.ps_per_byte_num = kBitPicosecondsPerByte / common;
  speed.ps_per_byte_den = bits / common;
  speed.fast_limit = (std::uint64_t{1} << 62) / std::max(speed.ps_per_byte_num, speed.ps_per_byte_den);
  return speed;
}

void Paths::change_link(topology::LinkId link, const LinkState& state) {
  links_[link.index()] = state;
  speeds_[link.index()] = speed_of(state);
  ORRERY_CHECK(epoch_ < std::numeric_limits<std::uint32_t>::max(), "more link changes than can be numbered");
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
