// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Max-min fair sharing of links among flows, kept up to date as flows come and go. No time in here.
///
/// An allocation is max-min fair when every flow crosses a saturated link on which no other flow is faster (its
/// bottleneck). Progressive filling finds it: raise all rates together, fix the flows of each link as it fills.
///
/// Only what a change can reach is solved again. Taking away a flow of rate x leaves every flow slower than x as
/// it was, because the filling below x does not see the difference; adding a flow leaves every flow slower than
/// the new one's least possible rate, min over its links of capacity / flows. Slower flows are frozen: they
/// count as load but are not visited. This is exact, not a heuristic (docs/models/flow.md has the proof).
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace orrery::network {

/// Rates and capacities share any one unit; the flow model uses bytes per picosecond.
class Sharing {
 public:
  explicit Sharing(std::size_t links) : lists_(links), links_(links) {}

  /// 0 is a link that passes nothing.
  void set_capacity(std::uint32_t link, double capacity);
  [[nodiscard]] double capacity(std::uint32_t link) const { return links_[link].capacity; }
  /// Adds a flow over `path` (distinct links, not empty); the span is copied. Its rate is 0 until solve().
  std::uint32_t add(std::span<const std::uint32_t> path);
  void remove(std::uint32_t flow);
  [[nodiscard]] bool is_used(std::uint32_t link) const { return !lists_[link].empty(); }
  [[nodiscard]] bool is_used() const { return used_links_ > 0; }
  [[nodiscard]] bool is_dirty() const { return !dirty_.empty(); }
  /// Brings all rates up to date; returns the flows that were solved again, each once. The answer is valid
  /// until the next call of anything that changes.
  std::span<const std::uint32_t> solve();
  [[nodiscard]] double rate(std::uint32_t flow) const { return rates_[flow]; }
  [[nodiscard]] std::span<const std::uint32_t> path(std::uint32_t flow) const {
    return {pool_.data() + routes_[flow].first, routes_[flow].count};
  }
  /// Number of flows solved again since the start: what solving cost.
  [[nodiscard]] std::uint64_t solved() const { return solved_; }
  /// Largest violation of the bottleneck condition over all flows and links, relative; 0 is perfect. For tests.
  [[nodiscard]] double certificate_error() const;

 private:
  struct Slot {
    std::uint32_t flow;
    std::uint32_t hop;
  };
  struct Link {
    double capacity = 0;
    // Scratch of one solve:
    double left = 0;
    std::uint32_t open = 0;
    std::uint32_t fixing = 0;
    std::uint32_t visit = 0;
    std::uint32_t place = 0;  // In seen_links_ and shares_.
    bool dirty = false;
  };
  struct Route {
    std::uint32_t first = 0;  // Of its links, and of its places in their lists, in pool_ and places_.
    std::uint32_t count = 0;
  };
  struct Key {
    double share;
    std::uint32_t link;
  };

  void mark(std::uint32_t link);
  void collect();
  void collect_link(std::uint32_t link);
  void fill();
  void fill_by_scan();
  void fill_by_heap();
  /// Fixes every open flow of `link` at `level`, takes their share off the other links they cross.
  void fix_flows(std::uint32_t link, double level);
  void next_visit();
  std::uint32_t take_pool(std::uint32_t count);

  std::vector<std::vector<Slot>> lists_;  // Flows on each link.
  std::vector<Link> links_;
  std::size_t used_links_ = 0;  // With at least one flow.
  // By flow, apart from each other: a solve runs over rates and visits far more often than over routes.
  std::vector<double> rates_;
  std::vector<std::uint32_t> visits_;  // Of the last solve that saw the flow, times two; one more once fixed.
  std::vector<Route> routes_;
  std::vector<std::uint32_t> free_flows_;
  std::vector<std::uint32_t> pool_;                    // Links of each flow's path.
  std::vector<std::uint32_t> places_;                  // Where the flow stands in each of those links' lists.
  std::vector<std::vector<std::uint32_t>> free_pool_;  // By path length.
  std::vector<std::uint32_t> dirty_;
  double frozen_below_ = std::numeric_limits<double>::infinity();
  std::uint32_t visit_ = 0;  // Even; see visits_.
  std::vector<std::uint32_t> seen_links_;
  std::vector<std::uint32_t> seen_flows_;
  std::vector<double> shares_;  // Of seen_links_: what each would give its open flows; infinite without any.
  std::vector<Key> heap_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t>
      picked_;  // Flows of one link that a pass is about; at least as long as any list.
  std::uint64_t solved_ = 0;
};

}  // namespace orrery::network
