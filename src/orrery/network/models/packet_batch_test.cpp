// SPDX-License-Identifier: Apache-2.0
// Goal: port by port gives what event by event gives: the same deliveries in the same order at the same picosecond, and
// the same counters.
// Method: hosts that answer what they get, at once or later, among other events and changes of links.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orrery/base/rng.hpp"
#include "orrery/network/models/packet_net.hpp"
#include "orrery/network/network_model.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::network {
namespace {

struct Talk {
  const char* cluster = "";
  std::size_t first = 0;    ///< Messages that nothing has to come before.
  std::size_t most = 0;     ///< Messages in all.
  std::int64_t spread = 0;  ///< The first ones start within so many picoseconds.
  std::int64_t bytes = 0;   ///< At most.
  int changes = 0;          ///< Of links.
};

/// Draws as it goes: one delivery that is early or out of order changes all that follows.
class Talkers final : Receiver, engine::Handler {
 public:
  Talkers(const std::string& model, const Talk& talk, std::uint64_t seed)
      : talk_{talk},
        rng_{seed, "talk"},
        cluster_{topology::load_cluster(talk.cluster)},
        router_{cluster_.graph} {
    std::string name;
    const config::Document settings = config::Document::from_line(model, "--network", name);
    network_ = builtin_networks().get(name, "--network").prepare(config::Cursor{settings})(context_);
    origin_ = engine_.add_origin("test");
    for (int i = 0; i < 6; ++i) {
      streams_.push_back(network_->open_stream());
      pairs_.push_back(any_pair());
    }
    for (std::size_t i = 0; i < talk.first; ++i) {
      wake_in(i % 3 == 0 ? 0 : rng_.between(0, talk.spread), kSend);
    }
    for (int i = 0; i < 50; ++i) wake_in(rng_.between(0, 4 * talk.spread), kNothing);
    for (int i = 0; i < talk.changes; ++i) wake_in(rng_.between(0, 2 * talk.spread), kChange);
    engine_.run();
  }

  [[nodiscard]] const std::vector<std::pair<std::int64_t, std::uint64_t>>& log() const { return log_; }
  [[nodiscard]] std::vector<LinkCounters> counters() const { return network_->link_counters(); }
  [[nodiscard]] std::size_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t batch_hops() const {
    return dynamic_cast<const PacketNet&>(*network_).batch_hops();
  }

 private:
  enum Act : std::uint64_t { kSend, kNothing, kChange, kMend };  // The last one plus the link.
  using Pair = std::pair<topology::NodeId, topology::NodeId>;

  void wake_in(std::int64_t delay, std::uint64_t act) {
    engine_.schedule(engine_.now() + Duration{delay},
                     act >= kChange ? engine::Phase::kLinkChange : engine::Phase::kWake, origin_, *this, act);
  }
  std::size_t below(std::size_t end) {
    return static_cast<std::size_t>(rng_.between(0, static_cast<std::int64_t>(end) - 1));
  }
  Pair any_pair() {
    const std::size_t ranks = cluster_.ranks.size();
    const std::size_t source = below(ranks);
    return {cluster_.ranks[source], cluster_.ranks[(source + 1 + below(ranks - 1)) % ranks]};
  }
  void send() {
    if (sent_ == talk_.most) return;
    Pair pair = any_pair();
    StreamId stream = kNoStream;
    if (below(3) == 0) {
      const std::size_t number = below(streams_.size());
      stream = streams_[number];
      pair = pairs_[number];
    }
    constexpr std::int64_t kSizes[] = {0, 1, 4096, 8192,
                                       100 * 4096};  // Equal ones meet at the same picosecond.
    const std::size_t kind = below(8);
    const std::int64_t size = kind < 5 ? kSizes[kind] : rng_.between(1, talk_.bytes);
    const auto label = static_cast<std::uint32_t>(below(4));
    network_->send({router_.route(pair.first, pair.second, label), Bytes{size}, stream, this, sent_++});
  }
  void change(topology::LinkId link, bool is_mended) {
    const Bandwidth speed =
        Bandwidth::bits_per_second((is_mended ? 100 : rng_.between(10, 200)) * 1'000'000'000);
    network_->change_link(link, {speed, Duration{rng_.between(0, 1'000'000)}, is_mended || below(3) > 0});
    if (!is_mended) wake_in(rng_.between(0, talk_.spread), kMend + link.index());
  }
  void on_event(std::uint64_t payload) override {
    if (payload == kSend) send();
    if (payload == kChange) change(topology::LinkId{below(cluster_.graph.link_count())}, false);
    if (payload >= kMend) change(topology::LinkId{payload - kMend}, true);
  }
  void on_delivered(std::uint64_t cookie) override {
    log_.emplace_back(count_ps(engine_.now()), cookie);
    const std::size_t answers = below(3);
    for (std::size_t i = 0; i < answers; ++i) {
      const std::size_t when = below(4);
      if (when == 0) send();
      if (when == 1) wake_in(0, kSend);
      if (when == 2) wake_in(rng_.between(1, 2'000'000), kSend);
    }
    if (below(3) == 0) wake_in(rng_.between(0, talk_.spread), kSend);
  }

  const Talk talk_;
  Rng rng_;
  topology::Cluster cluster_;
  engine::Engine engine_;
  topology::Router router_;
  NetworkContext context_{engine_, router_, cluster_.jitter, 1};
  std::unique_ptr<NetworkModel> network_;
  engine::OriginId origin_;
  std::vector<StreamId> streams_;
  std::vector<Pair> pairs_;
  std::size_t sent_ = 0;
  std::vector<std::pair<std::int64_t, std::uint64_t>> log_;
};

const Talk kTalks[] = {
    {"star:hosts=8,bandwidth=100Gbps,latency=500ns", 20, 150, 20'000'000, 300'000},
    {"star:hosts=24,bandwidth=100Gbps,latency=0ns", 100, 300, 10'000'000, 100'000},
    {"fattree:k=4,levels=3,bandwidth=100Gbps,latency=300ns", 60, 400, 30'000'000, 300'000},
    {"fattree:k=8,levels=2,bandwidth=73Gbps,latency=1us", 200, 500, 5'000'000, 400'000},
    {"rail_optimized:hosts=4,gpus_per_host=4", 60, 200, 10'000'000, 300'000},
    {"switch:hosts=8,bandwidth=100Gbps,latency=1us", 40, 200, 10'000'000, 200'000},
    {"fully_connected:hosts=6,bandwidth=100Gbps,latency=1us", 40, 200, 10'000'000, 200'000},
    {"dragonfly:a=4,p=2,h=2,bandwidth=100Gbps,latency=500ns,global_latency=2us", 60, 200, 10'000'000,
     100'000},
    {"ring:hosts=6,bandwidth=100Gbps,latency=100ns", 20, 100, 10'000'000, 100'000},
    {"torus:dims=3x3,bandwidth=100Gbps,latency=100ns", 20, 100, 10'000'000, 100'000},
    {"hgx-h100x4", 60, 200, 10'000'000, 300'000},
    {"star:hosts=8,bandwidth=100Gbps,latency=500ns", 20, 150, 20'000'000, 300'000, 6},
    {"fattree:k=4,levels=3,bandwidth=100Gbps,latency=300ns", 60, 300, 30'000'000, 300'000, 6},
};

class PortByPort : public testing::TestWithParam<const char*> {};

TEST_P(PortByPort, IsEventByEvent) {
  const std::string model = std::string{"packet:mtu=4096B"} + GetParam();
  std::size_t used = 0;
  for (const Talk& talk : kTalks) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Talkers batch{model + (seed == 1 ? ",batches=auto" : ",batches=always"), talk, seed};
      const Talkers plain{model + ",batches=never", talk, seed};
      const std::string what = fmt::format("{} on {}, seed {}", model, talk.cluster, seed);
      ASSERT_EQ(batch.log(), plain.log()) << what;
      ASSERT_EQ(plain.batch_hops(), 0) << what;
      if (batch.batch_hops() > 0) ++used;
      ASSERT_EQ(batch.log().size(), batch.sent()) << what;
      ASSERT_GT(batch.sent(), talk.most / 2) << what;
      const std::vector<LinkCounters> wanted = plain.counters();
      const std::vector<LinkCounters> counters = batch.counters();
      for (std::size_t link = 0; link < wanted.size(); ++link) {
        ASSERT_EQ(counters[link].bytes, wanted[link].bytes) << what << " link " << link;
        ASSERT_EQ(counters[link].packets, wanted[link].packets) << what << " link " << link;
        ASSERT_EQ(counters[link].longest_queue, wanted[link].longest_queue) << what << " link " << link;
      }
    }
  }
  EXPECT_GT(used, std::size(kTalks));  // Some clusters do not allow it, many do.
}

INSTANTIATE_TEST_SUITE_P(Settings, PortByPort,
                         testing::Values("", ",trains=false", ",forwarding=cut_through", ",overhead=700ns",
                                         ",routing=message", ",delivery=acknowledged,overhead=1us",
                                         ",header=4096B,trains=false,forwarding=cut_through"));

}  // namespace
}  // namespace orrery::network
