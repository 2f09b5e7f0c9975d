// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Routes as a network model wants them: links as dense numbers, latency as it is now, traffic counted.
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/memory.hpp"
#include "orrery/base/rng.hpp"
#include "orrery/network/network_model.hpp"

namespace orrery::network {

/// Shared by the models. Grows with the routes in use; the latency of a route is cached until a link changes.
class Paths {
 public:
  explicit Paths(const NetworkContext& context);

  /// Small, as there is one for every pair that talks: what follows from the slowest link stays with the link.
  struct Path {
    std::uint32_t first = 0;  ///< Of its links in the pool.
    std::uint32_t count = 0;
    Duration latency{};
    std::uint32_t slowest = 0;  ///< Link, as they are now. Only when there are links.
    std::uint32_t epoch = 0;
    std::uint64_t messages = 0;
    std::int64_t bytes = 0;
  };

  /// Up to date with all link changes so far.
  [[nodiscard]] Path& get(topology::RouteId route) {
    if (route.index() >= paths_.size() || paths_[route.index()].epoch != epoch_) refresh(route);
    return paths_[route.index()];
  }
  [[nodiscard]] std::span<const std::uint32_t> links(const Path& path) const {
    return {pool_.data() + path.first, path.count};
  }
  /// Of links as they are now; 0 when one is down or there are none.
  [[nodiscard]] Bandwidth bottleneck(const Path& path) const {
    return path.count == 0 ? Bandwidth{} : speeds_[path.slowest].bandwidth;
  }
  /// Latency of one message sent now: the links' latencies and, where they have jitter, a draw for each.
  [[nodiscard]] Duration latency(const Path& path) {
    return jitters_.empty() ? path.latency : path.latency + draw_jitter(path);
  }
  /// Time at the bottleneck's full speed, rounded up. The bottleneck must not be 0.
  [[nodiscard]] Duration transfer(const Path& path, Bytes size) const {
    const Speed& speed = speeds_[path.slowest];
    const auto bytes = static_cast<std::uint64_t>(size.count());
    if (bytes >= speed.fast_limit) return transfer_time(size, speed.bandwidth);
    const std::uint64_t product = bytes * speed.ps_per_byte_num;
    const std::uint64_t den = speed.ps_per_byte_den;
    return Duration{static_cast<std::int64_t>(den == 1 ? product : (product + den - 1) / den)};
  }
  /// Room for so many more.
  void reserve(std::size_t more) { reserve_more(paths_, more); }
  void change_link(topology::LinkId link, const LinkState& state);
  [[nodiscard]] const LinkState& link(std::uint32_t link) const { return links_[link]; }
  [[nodiscard]] std::size_t link_count() const { return links_.size(); }
  [[nodiscard]] std::vector<LinkCounters> counters() const;

 private:
  void refresh(topology::RouteId route);
  [[nodiscard]] Duration draw_jitter(const Path& path);

  struct Speed {
    Bandwidth bandwidth;                ///< 0 while the link is down.
    std::uint64_t ps_per_byte_num = 0;  ///< Picoseconds per byte as a reduced fraction: exact and fast.
    std::uint64_t ps_per_byte_den = 1;
    std::uint64_t fast_limit = 0;  ///< Sizes below it cannot overflow 64 bits.
  };
  [[nodiscard]] static Speed speed_of(const LinkState& state);

  struct Jitter {
    Duration amplitude{};
    Rng rng;
  };
  const topology::Router& router_;
  std::vector<LinkState> links_;
  std::vector<Speed> speeds_;  // Of links_.
  std::vector<Path> paths_;
  std::vector<std::uint32_t> pool_;
  std::vector<std::int32_t> jitter_of_;  // By link: index into jitters_, or -1. Empty without any jitter.
  std::vector<Jitter> jitters_;
  std::uint32_t epoch_ = 1;
};

}  // namespace orrery::network
