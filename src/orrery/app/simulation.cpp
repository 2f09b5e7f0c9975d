// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/simulation.hpp"

#include "orrery/network/token_buckets.hpp"

namespace orrery::app {

Simulation::Simulation(const Setup& setup)
    : cluster_{setup.cluster},
      engine_{engine::EngineOptions{.queue = setup.queue}},
      context_{engine_, setup.router, setup.cluster.jitter, setup.seed} {
  engine_.set_observer(setup.observer);
  engine_.set_interrupt(setup.wants_stop);
  network_ = network::with_buckets(setup.network.build(context_), context_);
  if (cluster_.events.empty()) return;
  links_.reserve(cluster_.graph.link_count());
  for (std::size_t i = 0; i < cluster_.graph.link_count(); ++i) {
    const topology::LinkSpec& spec = cluster_.graph.link(topology::LinkId{i});
    links_.push_back({.bandwidth = spec.bandwidth, .latency = spec.latency});
  }
  const engine::OriginId origin = engine_.add_origin("link events");
  for (std::size_t i = 0; i < cluster_.events.size(); ++i) {
    engine_.schedule(cluster_.events[i].at, engine::Phase::kLinkChange, origin, *this, i);
  }
}

void Simulation::on_event(std::uint64_t payload) {
  const topology::LinkEvent& event = cluster_.events[payload];
  network::LinkState& state = links_[event.link.index()];
  state.bandwidth = event.bandwidth.value_or(state.bandwidth);
  state.latency = event.latency.value_or(state.latency);
  state.up = event.up.value_or(state.up);
  network_->change_link(event.link, state);
}

}  // namespace orrery::app
