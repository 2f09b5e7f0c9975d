// SPDX-License-Identifier: Apache-2.0
// Hockney: T(n) = latency of the path + n / bottleneck bandwidth. No sharing: exact for a message alone on its
// path, a lower bound under contention. Messages of one stream follow each other. docs/models/alpha_beta.md.
#include <algorithm>

#include "orrery/base/pool.hpp"
#include "orrery/base/text.hpp"
#include "orrery/network/paths.hpp"

namespace orrery::network {
namespace {

struct AlphaBetaSpec {
  Duration overhead{};
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("overhead", &AlphaBetaSpec::overhead, "Added to the latency of every message.");
  }
};

class AlphaBeta final : public NetworkModel, engine::Handler, engine::Watch {
 public:
  AlphaBeta(const AlphaBetaSpec& spec, NetworkContext& context)
      : spec_{spec}, engine_{context.engine}, paths_{context}, origin_{engine_.add_origin("network")} {
    engine_.add_watch(*this);
  }
  ~AlphaBeta() override { engine_.remove_watch(*this); }

  StreamId open_stream() override {
    stream_free_.emplace_back();
    return StreamId{stream_free_.size() - 1};
  }

  void send(const Message& message) override {
    Paths::Path& path = paths_.get(message.route);
    ++path.messages;
    path.bytes += message.size.count();
    Time start = engine_.now() + (path.count == 0 ? Duration{} : paths_.latency(path) + spec_.overhead);
    Time arrival = start;
    if (path.count > 0 && message.size.count() > 0) {
      if (message.stream.is_valid()) start = std::max(start, stream_free_[message.stream.index()]);
      const Bandwidth bottleneck = paths_.bottleneck(path);
      const bool is_cut = bottleneck == Bandwidth{};
      arrival = is_cut ? kTimeMax : saturating_add(start, transfer_time(message.size, bottleneck));
      if (is_cut) lost_.push_back(message);
    }
    if (message.stream.is_valid()) {
      Time& free = stream_free_[message.stream.index()];
      arrival = free = std::max(arrival, free);
    }
    const std::uint32_t number = in_flight_.take();
    in_flight_[number] = message;
    engine_.schedule(arrival, engine::Phase::kDelivery, origin_, *this, number);
  }

  /// Messages under way keep the time they were given; those sent from now on feel the change.
  void change_link(topology::LinkId link, const LinkState& state) override {
    paths_.change_link(link, state);
  }
  [[nodiscard]] Dependence dependence() const override { return Dependence::kOnStream; }
  [[nodiscard]] std::vector<LinkCounters> link_counters() const override { return paths_.counters(); }

 private:
  void on_event(std::uint64_t payload) override {
    const auto number = static_cast<std::uint32_t>(payload);
    const Message message = in_flight_[number];
    in_flight_.give_back(number);
    message.receiver->on_delivered(message.cookie);
  }

  void report_blocked(std::vector<engine::Blocked>& blocked) const override {
    for (const Message& message : lost_) {
      blocked.push_back({"network",
                         fmt::format("{} sent into a path with a link that is down", to_text(message.size)),
                         {}});
    }
  }

  const AlphaBetaSpec spec_;
  engine::Engine& engine_;
  Paths paths_;
  engine::OriginId origin_;
  std::vector<Time> stream_free_;
  Pool<Message> in_flight_;
  std::vector<Message> lost_;
};

}  // namespace

NetworkRegistry::Entry alpha_beta() {
  return config::describe_model<AlphaBeta, AlphaBetaSpec, NetworkModel, NetworkContext>(
      "alpha_beta", "Latency plus size over the bottleneck; messages do not share links.");
}

}  // namespace orrery::network
