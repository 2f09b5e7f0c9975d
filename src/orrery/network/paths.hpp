// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Routes as a network model wants them: links as dense numbers, latency as it is now, traffic counted.
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/rng.hpp"
#include "orrery/network/network_model.hpp"

namespace orrery::network {

/// Shared by the models. Grows with the routes in use; the latency of a route is cached until a link changes.
class Paths {
 public:
  explicit Paths(const NetworkContext& context);

  struct Path {
    std::uint32_t first = 0;  ///< Of its links in the pool.
    std::uint32_t count = 0;
    Duration latency{};
    Bandwidth bottleneck;               ///< Of links as they are now; 0 when one is down.
    std::uint64_t ps_per_byte_num = 0;  ///< Picoseconds per byte as a reduced fraction: exact and fast.
    std::uint64_t ps_per_byte_den = 1;
    std::uint64_t fast_limit = 0;  ///< Sizes below it cannot overflow 64 bits.
    std::uint64_t epoch = 0;
    std::uint64_t messages = 0;
    std::int64_t bytes = 0;
    bool has_jitter = false;
  };

  /// Up to date with all link changes so far.
  [[nodiscard]] Path& get(topology::RouteId route) {
    if (route.index() >= paths_.size() || paths_[route.index()].epoch != epoch_) refresh(route);
    return paths_[route.index()];
  }
  [[nodiscard]] std::span<const std::uint32_t> links(const Path& path) const {
    return {pool_.data() + path.first, path.count};
  }
  /// Latency of one message sent now: the links' latencies and, where they have jitter, a draw for each.
  [[nodiscard]] Duration latency(const Path& path) {
    return path.has_jitter ? path.latency + draw_jitter(path) : path.latency;
  }
  /// Time at the bottleneck's full speed, rounded up. The bottleneck must not be 0.
  [[nodiscard]] static Duration transfer(const Path& path, Bytes size) {
    const auto bytes = static_cast<std::uint64_t>(size.count());
    if (bytes >= path.fast_limit) return transfer_time(size, path.bottleneck);
    const std::uint64_t product = bytes * path.ps_per_byte_num;
    return Duration{static_cast<std::int64_t>(
        path.ps_per_byte_den == 1 ? product : (product + path.ps_per_byte_den - 1) / path.ps_per_byte_den)};
  }
  void change_link(topology::LinkId link, const LinkState& state);
  [[nodiscard]] const LinkState& link(std::uint32_t link) const { return links_[link]; }
  [[nodiscard]] std::size_t link_count() const { return links_.size(); }
  [[nodiscard]] std::vector<LinkCounters> counters() const;

 private:
  void refresh(topology::RouteId route);
  [[nodiscard]] Duration draw_jitter(const Path& path);

  struct Jitter {
    Duration amplitude{};
    Rng rng;
  };
  const topology::Router& router_;
  std::vector<LinkState> links_;
  std::vector<Path> paths_;
  std::vector<std::uint32_t> pool_;
  std::vector<std::int32_t>
      jitter_of_;  // Index into jitters_, -1 = none; empty when there is no jitter at all.
  std::vector<Jitter> jitters_;
  std::uint64_t epoch_ = 1;
};

}  // namespace orrery::network
