// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A small cluster with a network model on it, for tests: say what is sent when, read when it arrived.
#include <memory>
#include <string>
#include <vector>

#include "orrery/network/network_model.hpp"
#include "orrery/network/token_buckets.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::network {

class TestNetwork final : Receiver, engine::Handler {
 public:
  /// `model` and `cluster` as on the command line: "flow:resolve_delay=1us", "star:hosts=4,...".
  TestNetwork(const std::string& model, const std::string& cluster)
      : cluster_{topology::load_cluster(cluster)},
        router_{cluster_.graph},
        context_{engine_, router_, cluster_.jitter, 1} {
    std::string name;
    const config::Document settings = config::Document::from_line(model, "--network", name);
    const NetworkRegistry registry = builtin_networks();
    network_ = with_buckets(registry.get(name, "--network").prepare(config::Cursor{settings})(context_), context_);
    origin_ = engine_.add_origin("test");
  }

  /// Sends when the clock gets there; returns the number under which arrived() answers.
  std::size_t send(Time at, std::size_t source, std::size_t target, Bytes size, StreamId stream = kNoStream) {
    const topology::RouteId route = router_.route(cluster_.ranks[source], cluster_.ranks[target]);
    const std::size_t index = sends_.size();
    sends_.push_back({route, size, stream, this, index});
    arrived_.push_back(kTimeMax);
    engine_.schedule(at, engine::Phase::kWake, origin_, *this, index);
    return index;
  }
  /// Changes a link when the clock gets there.
  void change(Time at, topology::LinkId link, const LinkState& state) {
    changes_.push_back({link, state});
    engine_.schedule(at, engine::Phase::kLinkChange, origin_, *this, kChange + changes_.size() - 1);
  }
  void run() { engine_.run(); }
  [[nodiscard]] Time arrived(std::size_t index) const { return arrived_[index]; }
  [[nodiscard]] NetworkModel& model() { return *network_; }
  [[nodiscard]] engine::Engine& engine() { return engine_; }
  [[nodiscard]] const topology::Cluster& cluster() const { return cluster_; }

 private:
  static constexpr std::uint64_t kChange = std::uint64_t{1} << 40;
  void on_event(std::uint64_t payload) override {
    if (payload >= kChange) {
      network_->change_link(changes_[payload - kChange].first, changes_[payload - kChange].second);
    } else {
      network_->send(sends_[payload]);
    }
  }
  void on_delivered(std::uint64_t cookie) override {
    ORRERY_CHECK(arrived_[cookie] == kTimeMax, "delivered twice");
    arrived_[cookie] = engine_.now();
  }

  topology::Cluster cluster_;
  engine::Engine engine_;
  topology::Router router_;
  NetworkContext context_;
  std::unique_ptr<NetworkModel> network_;
  engine::OriginId origin_;
  std::vector<Message> sends_;
  std::vector<std::pair<topology::LinkId, LinkState>> changes_;
  std::vector<Time> arrived_;
};

}  // namespace orrery::network
