// SPDX-License-Identifier: Apache-2.0
// Fluid flows: after its latency a transfer streams at its max-min fair share of the links on its path, and the
// shares change the moment transfers start, end, or links change. T = latency + integral of the share until all
// bytes are through. Exact dynamic max-min; times are rounded up to whole picoseconds. docs/models/flow.md.
//
// Most transfers meet nobody. Such a one is "express": its end is known when it is sent, one event is all it
// costs, and it takes part in sharing only if another transfer really starts on one of its links before that.
#include <algorithm>
#include <cmath>

#include "orrery/base/pool.hpp"
#include "orrery/base/text.hpp"
#include "orrery/network/models/flow_transfer.hpp"
#include "orrery/network/paths.hpp"
#include "orrery/network/sharing.hpp"

namespace orrery::network {
namespace {

using namespace detail;

struct FlowSpec {
  Duration overhead{};
  Duration resolve_delay{};
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("overhead", &FlowSpec::overhead,
          "Added to the latency of every message (LogGP's o and L beyond the links).");
    field("resolve_delay", &FlowSpec::resolve_delay,
          "After a transfer ends, wait at most this long before sharing out its bandwidth. 0 is exact.");
  }
};

class Flow final : public NetworkModel, engine::Handler, engine::Settler, engine::Watch {
 public:
  Flow(const FlowSpec& spec, NetworkContext& context)
      : spec_{spec},
        engine_{context.engine},
        graph_{context.router.graph()},
        paths_{context},
        sharing_{paths_.link_count()},
        origin_{engine_.add_origin("network")},
        express_on_(paths_.link_count(), kNone) {
    for (std::uint32_t link = 0; link < paths_.link_count(); ++link) {
      sharing_.set_capacity(link, paths_.link(link).bandwidth.bytes_per_picosecond());
    }
    engine_.add_watch(*this);
  }
  ~Flow() override { engine_.remove_watch(*this); }

  StreamId open_stream() override {
    stream_tail_.push_back(kNone);
    return StreamId{stream_tail_.size() - 1};
  }

  void expect(std::size_t streams) override {
    paths_.reserve(streams);
    reserve_more(stream_tail_, streams);
  }

  void send(const Message& message) override {
    Paths::Path& path = paths_.get(message.route);
    ++path.messages;
    path.bytes += message.size.count();
    const std::uint32_t id = transfers_.take();
    Transfer& transfer = transfers_[id];
    transfer.receiver = message.receiver;
    transfer.cookie = message.cookie;
    transfer.size = message.size.count();
    transfer.route = message.route;
    transfer.stream = message.stream.value();
    transfer.next = kNone;
    const Duration delay = path.count == 0 ? Duration{} : paths_.latency(path) + spec_.overhead;
    transfer.start = count_ps(engine_.now() + delay);
    if (message.stream.is_valid()) {
      const std::uint32_t tail = std::exchange(stream_tail_[message.stream.index()], id);
      if (tail != kNone) {
        transfers_[tail].next = id;
        transfer.state = State::kQueued;
        return;
      }
    }
    begin(id, path);
  }

  void change_link(topology::LinkId link, const LinkState& state) override {
    if (express_on_[link.index()] != kNone) demote(express_on_[link.index()]);
    paths_.change_link(link, state);
    sharing_.set_capacity(link.value(), state.up ? state.bandwidth.bytes_per_picosecond() : 0.0);
    if (sharing_.is_dirty()) engine_.ask_to_settle(*this);
  }

  [[nodiscard]] Dependence dependence() const override {
    // A delayed solve may be pending when the last transfer is through.
    return spec_.resolve_delay == Duration{} ? Dependence::kOnTraffic : Dependence::kOnHistory;
  }
  [[nodiscard]] std::vector<LinkCounters> link_counters() const override { return paths_.counters(); }

  [[nodiscard]] std::vector<std::string> notes() const override {
    if (spec_.resolve_delay == Duration{}) return {};
    return {
        fmt::format("flow: resolve_delay {}: freed bandwidth lay idle for at most {} in all, in {} batches",
                    to_text(spec_.resolve_delay), to_text(stale_), batches_)};
  }

 private:
  std::int64_t now() const { return count_ps(engine_.now()); }

  void schedule(std::int64_t at, engine::Phase phase, std::uint64_t payload) {
    if (at != kNever) engine_.schedule(Time{Duration{at}}, phase, origin_, *this, payload);
  }

  /// First in its stream: takes the express way, or waits out its latency, or starts to share.
  void begin(std::uint32_t id, const Paths::Path& path) {
    Transfer& transfer = transfers_[id];
    transfer.start = std::max(transfer.start, now());
    if (is_idle(path) || transfer.size == 0 || path.count == 0) {
      go_express(id, path);
    } else if (transfer.start > now()) {
      transfer.state = State::kLatency;
      schedule(transfer.start, engine::Phase::kArrival, pack(EventKind::kStart, id, transfer.generation));
    } else {
      start(id);  // An express transfer on its links must share from now on.
    }
  }

  [[nodiscard]] bool is_idle(const Paths::Path& path) const {
    if (paths_.bottleneck(path) == Bandwidth{}) return false;
    for (const std::uint32_t link : paths_.links(path)) {
      if (express_on_[link] != kNone || sharing_.is_used(link)) return false;
    }
    return true;
  }

  void go_express(std::uint32_t id, const Paths::Path& path) {
    Transfer& transfer = transfers_[id];
    transfer.state = State::kExpress;
    transfer.finish = transfer.start;
    if (path.count > 0 && transfer.size > 0) {
      for (const std::uint32_t link : paths_.links(path)) express_on_[link] = id;
      transfer.finish = count_ps(
          saturating_add(Time{Duration{transfer.start}}, paths_.transfer(path, Bytes{transfer.size})));
    }
    schedule(transfer.finish, engine::Phase::kCompletion,
             pack(EventKind::kExpressEnd, id, transfer.generation));
  }

  void clear_express(std::uint32_t id) {
    for (const std::uint32_t link : paths_.links(paths_.get(transfers_[id].route))) {
      if (express_on_[link] == id) express_on_[link] = kNone;
    }
  }

  /// An express transfer meets company (or its link changes): it shares from now on.
  void demote(std::uint32_t id) {
    Transfer& transfer = transfers_[id];
    const double rate = paths_.bottleneck(paths_.get(transfer.route)).bytes_per_picosecond();
    clear_express(id);
    ++transfer.generation;
    if (transfer.start > now()) {
      transfer.state = State::kLatency;
      schedule(transfer.start, engine::Phase::kArrival, pack(EventKind::kStart, id, transfer.generation));
    } else {
      const double done = rate * static_cast<double>(now() - transfer.start);
      activate(id, std::max(0.0, static_cast<double>(transfer.size) - done));
    }
  }

  void activate(std::uint32_t id, double remaining) {
    Transfer& transfer = transfers_[id];
    const std::span<const std::uint32_t> links = paths_.links(paths_.get(transfer.route));
    transfer.state = State::kActive;
    transfer.remaining = remaining;
    transfer.rate = 0;
    transfer.updated = now();
    transfer.finish = remaining > 0 ? kNever : now();
    transfer.slot = sharing_.add(links);
    if (transfer.slot == transfer_of_slot_.size()) transfer_of_slot_.emplace_back();
    transfer_of_slot_[transfer.slot] = id;
    engine_.ask_to_settle(*this);
  }

  void on_event(std::uint64_t payload) override {
    const auto id = static_cast<std::uint32_t>(payload);
    const auto generation = static_cast<std::uint32_t>((payload >> 32) & 0x3FFFFFFF);
    switch (static_cast<EventKind>(payload >> 62)) {
      case EventKind::kExpressEnd:
        if ((transfers_[id].generation & 0x3FFFFFFF) != generation) return;
        if (transfers_[id].size > 0) clear_express(id);
        complete(id);
        return;
      case EventKind::kStart:
        if ((transfers_[id].generation & 0x3FFFFFFF) == generation) start(id);
        return;
      case EventKind::kGroupEnd:
        if ((groups_[id].generation & 0x3FFFFFFF) == generation) end_group(id);
        return;
      case EventKind::kResolve:
        resolve_pending_ = false;
        if (sharing_.is_dirty()) engine_.ask_to_settle(*this);
        return;
    }
  }

  /// The latency is over.
  void start(std::uint32_t id) {
    const Paths::Path& path = paths_.get(transfers_[id].route);
    for (const std::uint32_t link : paths_.links(path)) {
      if (express_on_[link] != kNone) demote(express_on_[link]);
    }
    if (is_idle(path)) {
      go_express(id, path);
    } else {
      activate(id, static_cast<double>(transfers_[id].size));
    }
  }

  /// The first of the group are through; the others wait for the next solve, or for their turn.
  void end_group(std::uint32_t id) {
    Group& group = groups_[id];
    ending_.clear();
    for (const std::uint32_t member : group.first) {
      if (transfers_[member].group != id || transfers_[member].finish > now()) continue;
      ending_.push_back(member);
      transfers_[member].group = kNone;
      sharing_.remove(transfers_[member].slot);
    }
    group.first.clear();
    group.live -= static_cast<std::uint32_t>(ending_.size());
    if (spec_.resolve_delay == Duration{}) {
      regroup_.push_back(id);
      engine_.ask_to_settle(*this);
    } else {
      await_next(id);
      delay_resolve();
    }
    for (const std::uint32_t member : ending_) complete(member);  // Last: receivers may send at once.
  }

  void delay_resolve() {
    if (!sharing_.is_dirty() || resolve_pending_) return;
    resolve_pending_ = true;
    stale_since_ = now();
    ++batches_;
    schedule(now() + spec_.resolve_delay.count(), engine::Phase::kWake, pack(EventKind::kResolve, 0, 0));
  }

  /// Schedules the group's next end, or gives the group back when nobody is left in it.
  void await_next(std::uint32_t id) {
    Group& group = groups_[id];
    if (group.live == 0) {
      free_group(id);
      return;
    }
    group.first.clear();
    std::int64_t first = kNever;
    std::size_t kept = 0;
    for (const std::uint32_t member : group.members) {
      if (transfers_[member].group != id) continue;
      group.members[kept++] = member;
      group.note_first(member, transfers_[member].finish, first);
    }
    group.members.resize(kept);
    schedule(first, engine::Phase::kCompletion, pack(EventKind::kGroupEnd, id, ++group.generation));
  }

  void free_group(std::uint32_t id) {
    ++groups_[id].generation;  // Its pending event is void.
    groups_[id].members.clear();
    groups_[id].first.clear();
    groups_.give_back(id);
  }

  void settle() override {
    if (sharing_.is_dirty()) share_out();
    for (const std::uint32_t group : regroup_) await_next(group);
    regroup_.clear();
  }

  void share_out() {
    if (stale_since_ != kNever) stale_ += Duration{now() - std::exchange(stale_since_, kNever)};
    const std::span<const std::uint32_t> solved = sharing_.solve();
    if (solved.empty()) return;
    const std::uint32_t id = groups_.take();
    Group& group = groups_[id];
    std::int64_t first = kNever;
    group.members.resize(solved.size());
    group.live = static_cast<std::uint32_t>(solved.size());
    std::uint32_t from = kNone;  // Neighbours mostly leave the same group; it is told once.
    std::uint32_t leaving = 0;
    for (std::size_t i = 0; i < solved.size(); ++i) {
      const std::uint32_t member = transfer_of_slot_[solved[i]];
      Transfer& transfer = transfers_[member];
      const double rate = sharing_.rate(solved[i]);
      if (rate != transfer.rate) retime(transfer, rate);
      if (transfer.group != from) {
        if (from != kNone) leave(from, leaving);
        from = transfer.group;
        leaving = 0;
      }
      ++leaving;
      transfer.group = id;
      group.members[i] = member;
      group.note_first(member, transfer.finish, first);
    }
    if (from != kNone) leave(from, leaving);
    schedule(first, engine::Phase::kCompletion, pack(EventKind::kGroupEnd, id, group.generation));
  }

  void retime(Transfer& transfer, double rate) {
    const double done = transfer.rate * static_cast<double>(now() - transfer.updated);
    transfer.remaining = std::max(0.0, transfer.remaining - done);
    transfer.updated = now();
    transfer.rate = rate;
    if (rate <= 0) {
      transfer.finish = kNever;
      return;
    }
    // Quotients a rounding error above a whole number must not cost a picosecond.
    constexpr double kRounding = 1 - 1e-14;
    const double left = transfer.remaining / rate * kRounding;
    transfer.finish = count_ps(saturating_add(engine_.now(), ceil_unchecked(left)));
  }

  void leave(std::uint32_t id, std::uint32_t count) {
    groups_[id].live -= count;
    if (groups_[id].live > 0) return;
    if (std::ranges::find(regroup_, id) == regroup_.end()) free_group(id);  // Else await_next() does.
  }

  void complete(std::uint32_t id) {
    if (engine_.observer() != nullptr) [[unlikely]] {
      observe(transfers_[id]);
    }
    Transfer& transfer = transfers_[id];
    Receiver* receiver = transfer.receiver;
    const std::uint64_t cookie = transfer.cookie;
    const std::uint32_t next = transfer.next;
    if (transfer.stream != kNone && stream_tail_[transfer.stream] == id) {
      stream_tail_[transfer.stream] = kNone;
    }
    ++transfer.generation;
    transfer.state = State::kFree;
    transfer.group = kNone;
    transfers_.give_back(id);
    if (next != kNone) begin(next, paths_.get(transfers_[next].route));
    receiver->on_delivered(cookie);
  }

  void observe(const Transfer& transfer) {
    engine::Observer& observer = *engine_.observer();
    for (const std::uint32_t link : paths_.links(paths_.get(transfer.route))) {
      const engine::TrackId track = observer.track("links", graph_.link_name(topology::LinkId{link}));
      observer.span(track, to_text(Bytes{transfer.size}), Time{Duration{transfer.start}}, engine_.now(), "");
    }
  }

  void report_blocked(std::vector<engine::Blocked>& blocked) const override {
    if (!sharing_.is_used()) return;
    for (std::uint32_t id = 0; id < transfers_.size(); ++id) {
      const Transfer& transfer = transfers_[id];
      if (transfer.state != State::kActive || transfer.finish != kNever) continue;
      std::string dead = "a link";
      for (const std::uint32_t link : sharing_.path(transfer.slot)) {
        if (sharing_.capacity(link) == 0) dead = graph_.link_name(topology::LinkId{link});
      }
      blocked.push_back(
          {"network",
           fmt::format("transfer of {} stalled: {} is down", to_text(Bytes{transfer.size}), dead),
           {}});
    }
  }

  const FlowSpec spec_;
  engine::Engine& engine_;
  const topology::Graph& graph_;
  Paths paths_;
  Sharing sharing_;
  engine::OriginId origin_;
  std::vector<std::uint32_t> express_on_;  // Per link: the express transfer on it.
  std::vector<std::uint32_t> stream_tail_;
  Pool<Transfer> transfers_;
  std::vector<std::uint32_t> transfer_of_slot_;
  Pool<Group> groups_;
  std::vector<std::uint32_t> regroup_;
  std::vector<std::uint32_t> ending_;
  bool resolve_pending_ = false;
  std::int64_t stale_since_ = kNever;
  Duration stale_{};
  std::uint64_t batches_ = 0;
};

}  // namespace

NetworkRegistry::Entry flow() {
  return config::describe_model<Flow, FlowSpec, NetworkModel, NetworkContext>(
      "flow", "Exact dynamic max-min sharing of links by fluid flows (default).");
}

}  // namespace orrery::network
