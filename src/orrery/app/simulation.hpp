// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One wired simulation: an engine, a network model on a cluster, and the cluster's link events on the clock.
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "orrery/app/network_choice.hpp"
#include "orrery/engine/engine.hpp"
#include "orrery/network/network_model.hpp"
#include "orrery/topology/cluster.hpp"
#include "orrery/topology/router.hpp"

namespace orrery::app {

class Simulation final : public Pinned, engine::Handler {
 public:
  /// The references outlive the simulation. A router may serve one simulation after the other, not several
  /// threads at once.
  struct Setup {
    const topology::Cluster& cluster;
    topology::Router& router;
    const NetworkChoice& network;
    std::uint64_t seed = 0;
    engine::QueueKind queue = engine::QueueKind::kAuto;
    engine::Observer* observer = nullptr;
    const std::function<bool()>* wants_stop = nullptr;
  };
  explicit Simulation(const Setup& setup);

  [[nodiscard]] engine::Engine& engine() { return engine_; }
  [[nodiscard]] topology::Router& router() { return context_.router; }
  [[nodiscard]] network::NetworkModel& network() { return *network_; }
  [[nodiscard]] const topology::Cluster& cluster() const { return cluster_; }

 private:
  /// `payload` is an index into the cluster's link events.
  void on_event(std::uint64_t payload) override;

  const topology::Cluster& cluster_;
  engine::Engine engine_;
  network::NetworkContext context_;
  std::unique_ptr<network::NetworkModel> network_;
  std::vector<network::LinkState> links_;  // As they are now; empty when nothing ever happens to a link.
};

}  // namespace orrery::app
