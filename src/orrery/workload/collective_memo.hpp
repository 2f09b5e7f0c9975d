// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a collective went that all members called at one instant: enough to let the next one go the same way.
#include <cstdint>
#include <memory>
#include <vector>

#include "orrery/collectives/select/planner.hpp"
#include "orrery/network/network_model.hpp"

namespace orrery::workload {

struct CollectiveMemo {
  std::shared_ptr<const collectives::Plan> plan;  ///< Kept, so that its address stays its own.
  struct End {
    Duration after{};  ///< Since the call.
    std::vector<collectives::Rank> members;
  };
  std::vector<End> ends{};  ///< By time.
  Bytes wire_bytes{};
  std::uint64_t messages = 0;
  std::vector<network::LinkCounters> routes{};  ///< What was sent over each, by the route's index.
  std::uint64_t uses = 0;

  void add_end(Duration after, collectives::Rank member) {
    if (ends.empty() || ends.back().after != after) ends.push_back({after, {}});
    ends.back().members.push_back(member);
  }
};

/// Passes everything on to a network model and counts what goes over each route.
class CountingNetwork final : public network::NetworkModel {
 public:
  explicit CountingNetwork(network::NetworkModel& real) : real_{real} {}
  network::StreamId open_stream() override { return real_.open_stream(); }
  void expect(std::size_t streams) override { real_.expect(streams); }
  void send(const network::Message& message) override {
    const std::size_t route = message.route.index();
    if (route >= routes_.size()) routes_.resize(route + 1);
    ++routes_[route].messages;
    routes_[route].bytes += message.size;
    real_.send(message);
  }
  void change_link(topology::LinkId link, const network::LinkState& state) override {
    real_.change_link(link, state);
  }
  [[nodiscard]] std::vector<network::LinkCounters> link_counters() const override {
    return real_.link_counters();
  }
  [[nodiscard]] std::vector<network::LinkCounters> take_routes() { return std::move(routes_); }

 private:
  network::NetworkModel& real_;
  std::vector<network::LinkCounters> routes_;
};

}  // namespace orrery::workload
