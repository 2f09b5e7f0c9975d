// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The packet model. Its parts: packet.cpp (messages in and out), packet_forward.cpp (a packet at a port, the turns of
/// senders), packet_blocking.cpp (ports held back), packet_control.cpp (windows, rates, credits, losses),
/// packet_train.cpp (messages alone on their links), packet_links.cpp (ports and how they change), packet_batch.cpp and
/// packet_batch_state.cpp (port by port instead of event by event).
#include <memory>
#include <string>
#include <vector>

#include "orrery/base/pool.hpp"
#include "orrery/network/models/packet_batch.hpp"
#include "orrery/network/models/packet_spec.hpp"
#include "orrery/network/models/packet_types.hpp"
#include "orrery/network/paths.hpp"

namespace orrery::network {

class PacketNet final : public NetworkModel, engine::Handler, engine::Background, engine::Watch {
 public:
  PacketNet(const PacketSpec& spec, NetworkContext& context);
  ~PacketNet() override;

  StreamId open_stream() override;
  void expect(std::size_t streams) override;
  void send(const Message& message) override;
  void change_link(topology::LinkId link, const LinkState& state) override;
  [[nodiscard]] std::vector<LinkCounters> link_counters() const override;
  [[nodiscard]] std::vector<std::string> notes() const override;
  /// Packets over links that were run port by port.
  [[nodiscard]] std::uint64_t batch_hops() const { return batch_hops_; }

 private:
  using Event = detail::PacketEvent;
  using Port = detail::Port;
  using Live = detail::PacketMessage;
  enum class Control : std::uint8_t { kNone, kWindow, kDcqcn, kCredit };
  enum class Loss : std::uint8_t { kNone, kDrop, kPfc, kCredit };

  // packet.cpp: messages in and out.
  void on_event(std::uint64_t payload) override;
  [[nodiscard]] bool run_before(Time limit) override;
  [[nodiscard]] bool has_work() const override {
    return !fresh_.empty() || queue_->size() > 0 || batch_.in_flight > 0;
  }
  void report_blocked(std::vector<engine::Blocked>& blocked) const override;
  void begin_fresh();
  void begin(std::uint32_t id, std::int64_t now);
  /// Nothing of its stream is in front of it any more.
  void start_sending(std::uint32_t id, std::int64_t now);
  void complete(std::uint32_t id, std::int64_t now);
  void deliver_at(std::uint32_t id, std::int64_t time);
  void give_back(std::uint32_t id);
  void observe(const Live& message);

  // packet_forward.cpp: a packet at a port.
  /// False when more is left before the limit.
  [[nodiscard]] bool run_events(std::uint64_t most);
  void handle(const Event& event);
  void arrive(const Event& event);
  void arrive_here(const Event& event);
  void accept(const Event& event, std::uint32_t hop);
  void wait_for_turn(const Event& event, std::uint32_t link);
  void pass_here(const Event& event, std::uint32_t hop, std::int64_t start, std::int64_t time);
  /// Sends on what has begun to leave the port at `start`.
  void pass_on(const Event& event, std::uint32_t hop, std::int64_t start, std::int64_t time);
  /// From the port of `link` to the next one, or to the target.
  void emit(std::uint32_t link, const Event& event) {
    Port& port = ports_[link];
    if (port.leaving++ == 0) {
      queue_->push(event);
    } else {
      port.ring.push(event);
    }
  }
  /// The first of those under way from a port is there.
  void landed(const Event& event) {
    Port& port = ports_[crossed(event)];
    if (--port.leaving > 0) queue_->push(port.ring.pop());
  }
  /// The link over which a packet came.
  [[nodiscard]] std::uint32_t crossed(const Event& event) const {
    return pool_[(event.info & detail::kAtTarget) != 0 ? event.pos : event.pos - 1] & ~detail::kLastHop;
  }
  /// Most of the time goes into waiting for memory, and what comes next is known.
  void fetch_ahead() const {
    constexpr std::size_t kPorts = 8;
    constexpr std::size_t kRing = 4;
    if (const Event* soon = queue_->ahead(kPorts); soon != nullptr && soon->key >> detail::kKindShift == 0) {
      __builtin_prefetch(&ports_[pool_[soon->pos] & ~detail::kLastHop]);
      __builtin_prefetch(&ports_[crossed(*soon)]);
      __builtin_prefetch(&ports_[crossed(*soon)].ring);
    }
    if (const Event* soon = queue_->ahead(kRing); soon != nullptr && soon->key >> detail::kKindShift == 0) {
      __builtin_prefetch(ports_[crossed(*soon)].ring.front());
    }
  }
  void count(std::uint32_t link, std::uint32_t bytes) {
    ++ports_[link].packets;
    ++hops_;
    if (bytes != full_bytes_) more_[link].missing += std::int64_t{full_bytes_} - bytes;
  }
  [[nodiscard]] std::int64_t send_time(std::uint32_t link, std::uint32_t bytes) const;
  [[nodiscard]] std::int64_t head_start(const Port& port, std::uint32_t next, std::uint32_t bytes,
                                        std::int64_t time) const;
  void join_turns(std::uint32_t id, std::int64_t now);
  void wake_sender(std::uint32_t link, std::int64_t at);
  void on_sender(std::uint32_t link, std::int64_t now);
  [[nodiscard]] std::uint32_t take_turn(detail::Sender& sender, std::int64_t now, std::int64_t& ready);
  void leave_turns(detail::Sender& sender);
  [[nodiscard]] Event next_packet(std::uint32_t id, std::int64_t now);
  void after_packet(std::uint32_t id, std::uint32_t link, std::int64_t now);
  void observe_queue(std::uint32_t link, std::int64_t now, std::int64_t wait);
  [[nodiscard]] std::uint64_t draw(std::uint64_t from, std::uint64_t number) const;

  // packet_blocking.cpp: ports held back.
  void arrive_blocking(const Event& event);
  void try_send(std::uint32_t link, std::int64_t now);
  void send_blocking(std::uint32_t link, const Event& event, std::int64_t now);
  [[nodiscard]] bool has_credit(std::uint32_t link, const Event& event) const;
  void finish_sending(std::uint32_t link, std::int64_t now);
  void on_port(std::uint32_t link, std::int64_t now);
  void on_flow(std::uint32_t link, std::uint32_t what, std::int64_t bytes, std::int64_t now);

  // packet_control.cpp: what holds senders back, and losses.
  void prepare_control(std::uint32_t id);
  [[nodiscard]] bool may_send(std::uint32_t id, std::int64_t now, std::int64_t& ready);
  void at_target(const Event& event);
  void send_news(Event news);
  [[nodiscard]] std::int64_t bdp_packets(const Live& message) const;
  [[nodiscard]] std::int64_t load_way_back(const Live& message, std::int64_t now);
  void on_news(const Event& event);
  void cut_rate(std::uint32_t id, std::int64_t now);
  void raise_rate(std::uint32_t id, std::int64_t now);
  void drop(const Event& event, std::uint32_t link);
  void on_timer(const Event& event);
  void go_back(std::uint32_t id, std::uint32_t to);
  [[nodiscard]] bool is_marked(std::uint32_t link, std::int64_t wait);

  // packet_train.cpp: messages alone on their links.
  [[nodiscard]] bool try_train(std::uint32_t id);
  [[nodiscard]] bool stays_alone(const Live& message) const;
  [[nodiscard]] std::int64_t train_end(const Live& message, bool counts);
  void end_train(std::uint32_t id);
  void break_trains(const Live& message, std::int64_t now);
  void break_train(std::uint32_t id, std::int64_t now);
  void claim(const Live& message, std::int32_t by);

  // packet_batch.cpp: port by port.
  [[nodiscard]] bool run_batch();
  [[nodiscard]] std::int64_t horizon(std::int64_t known);
  [[nodiscard]] std::int64_t earliest_end(std::uint32_t id, std::int64_t now) const;
  [[nodiscard]] std::int64_t shortest_way(std::uint32_t pos, std::uint32_t bytes) const;
  /// All that comes to ports before `to`.
  void run_ports(std::int64_t to);
  void list_port(std::uint32_t link, std::int64_t time);
  void push_lane(std::uint32_t lane, const detail::LaneRun& packet);
  void add_to_lane(const detail::LaneRun& packet);
  void pass_lanes(std::uint32_t link, std::int64_t to);
  void pass_run(Port& port, const detail::LaneRun& run);
  [[nodiscard]] std::int64_t pass_last(const detail::LaneRun& packet, std::int64_t start);
  [[nodiscard]] std::uint32_t last_of(std::uint32_t id) const;
  void send_own(std::uint32_t link, std::int64_t to);
  void follow(detail::Sender& sender, std::uint32_t link, std::uint32_t id, std::int64_t now);
  void append_turn(detail::Sender& sender, std::uint32_t id);
  void add_join(std::uint32_t link, std::uint32_t id, std::uint64_t order);

  // packet_batch_state.cpp: when.
  void prepare_batch();
  /// Port by port, if that is possible now.
  void choose_way(std::int64_t now);
  [[nodiscard]] bool is_batch_faster() const;
  void set_delay(detail::Lane& lane) const;
  void look_ahead(std::uint32_t link);
  void add_lanes(std::uint32_t first);
  void give_up();
  [[nodiscard]] bool leads_to(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] bool raise(std::uint32_t link, std::uint32_t level);
  /// False: it cannot be run port by port.
  [[nodiscard]] bool begin_in_batch(std::uint32_t id, std::int64_t now);
  void join_in_batch(std::uint32_t id, std::int64_t now);
  void watch(std::uint32_t id, std::int64_t now);
  void absorb_train(std::uint32_t id, std::int64_t now);
  void leave_batch(std::int64_t now);
  [[nodiscard]] Event to_event(const detail::LaneRun& packet) const;
  void resume_turns(std::uint32_t link, std::int64_t now);

  // packet_links.cpp: ports and routes.
  /// Ports whose packets are sent on before they are there.
  void find_cuts();
  void set_port(std::uint32_t link, const LinkState& state);
  void retime(std::uint32_t link, std::int64_t now, const Port& old);
  [[nodiscard]] std::int64_t old_send_time(const Port& old, std::uint32_t bytes) const;
  void release_held(std::uint32_t link, std::int64_t now);
  void come_up(std::uint32_t link, std::int64_t now);
  [[nodiscard]] std::uint32_t first_hop(topology::RouteId route);
  [[nodiscard]] std::uint32_t add_route(std::span<const topology::LinkId> links);
  [[nodiscard]] const std::vector<std::uint32_t>& sprays(topology::RouteId route);
  template <class Visit>
  void for_each_hop(std::uint32_t first, Visit&& visit) const {
    for (std::uint32_t pos = first;; ++pos) {
      visit(pool_[pos] & ~detail::kLastHop);
      if ((pool_[pos] & detail::kLastHop) != 0) return;
    }
  }
  [[nodiscard]] std::uint32_t hop_count(std::uint32_t first) const {
    std::uint32_t count = 0;
    for_each_hop(first, [&](std::uint32_t) { ++count; });
    return count;
  }
  /// Every link that packets of the message may cross, once per route.
  template <class Visit>
  void for_each_link(const Live& message, Visit&& visit) {
    if (!is_spraying_) return for_each_hop(message.first, visit);
    for (const std::uint32_t first : sprays(message.route)) for_each_hop(first, visit);
  }

  const PacketSpec spec_;
  engine::Engine& engine_;
  topology::Router& router_;
  const topology::Graph& graph_;
  Paths paths_;
  engine::OriginId origin_;
  const std::uint64_t seed_;
  const Control control_;
  const Loss loss_;
  const bool is_blocking_;
  const bool is_spraying_;
  const bool is_drawing_;  ///< Each message has a route of its own.
  const bool goes_back_;
  const bool is_acknowledged_;  ///< Delivery when the sender knows.
  /// The arrival of every packet matters, not of the last one only.
  const bool counts_packets_;
  const std::uint32_t full_bytes_;  ///< Of a full packet on the wire.
  const std::uint32_t header_;
  const std::int64_t buffer_;
  std::vector<Port> ports_;
  std::vector<detail::PortMore> more_;
  std::vector<detail::PortQueue> queues_;  ///< Empty unless blocking.
  std::vector<detail::Sender> senders_;
  std::vector<std::uint32_t> pool_;  ///< Links of routes, one route after the other.
  std::vector<std::uint32_t> first_of_route_;
  std::vector<std::vector<std::uint32_t>> sprays_of_route_;
  std::vector<std::uint32_t> reverse_;  ///< Link the other way; only with ack_load.
  std::vector<std::pair<topology::NodeId, topology::NodeId>> ends_;  ///< Of links; only for spraying.
  std::vector<std::uint32_t> stream_tail_;
  Pool<Live> messages_;
  std::vector<detail::PacketRate> rates_;  ///< By message; only with dcqcn.
  std::vector<std::uint32_t> fresh_;       ///< Sent in this instant, not begun.
  std::unique_ptr<detail::PacketQueue> queue_;
  std::unique_ptr<detail::PacketQueue> scratch_;  ///< For breaking trains.
  detail::PacketBatch batch_;
  std::int64_t longest_time_ = 0;  ///< Of all ports, to send a full packet.
  std::size_t down_ = 0;           ///< Links that are.
  std::int64_t limit_ = 0;         ///< Own events run strictly before it.
  std::uint64_t sent_ = 0;         ///< Messages.
  std::uint64_t hops_ = 0;         ///< Packets over links, one by one.
  std::uint64_t batch_hops_ = 0;   ///< Of those, port by port.
  std::uint64_t train_hops_ = 0;
  std::uint64_t trains_ = 0;
  std::uint64_t broken_trains_ = 0;
  std::uint64_t resent_ = 0;
  std::vector<engine::TrackId> tracks_;
  std::vector<std::int64_t> next_sample_;
};

}  // namespace orrery::network
