// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/message_board.hpp"

#include <fmt/format.h>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::workload {
namespace {

/// Events of a transfer: it leaves after the sender's overhead, or is taken after the receiver's.
constexpr std::uint64_t kTaken = std::uint64_t{1} << 40;

}  // namespace

MessageBoard::MessageBoard(const Setup& setup)
    : setup_{setup}, origin_{setup.engine.add_origin("messages")} {}

const topology::DeviceSpec& MessageBoard::device(Rank rank) const {
  return setup_.cluster.devices[setup_.cluster.device_of_rank[rank]];
}

void MessageBoard::post(Rank rank, Slot slot, const Communication& what) {
  const bool is_send = what.kind == OpKind::kSend;
  if (what.peer >= setup_.ranks) {
    throw SimulationError{fmt::format("rank {}: {}: there is no such rank; the workload has {}", rank,
                                      to_text(what), setup_.ranks)};
  }
  const Key key = is_send ? Key{rank, what.peer, what.tag} : Key{what.peer, rank, what.tag};
  Party party{.rank = rank, .slot = slot, .id = what.id, .size = what.size};
  Queue& queue = queues_[key];
  if (!is_send) {
    queue.receives.push_back(party);
    return match(key, queue);
  }
  party.wake = setup_.wakefulness.wake(rank, "send_recv", what.size, setup_.engine.now());
  party.transfer = transfers_.take();
  Transfer& transfer = transfers_[party.transfer];
  transfer = {.from = party, .target = what.peer, .is_eager = what.size <= setup_.eager_limit};
  queue.sends.push_back(party);
  const bool goes_now = transfer.is_eager;
  match(key, queue);
  if (goes_now) begin(party.transfer);
}

void MessageBoard::match(const Key& key, Queue& queue) {
  // Only one side can have more than one waiting.
  if (queue.sends.empty() || queue.receives.empty()) return;
  const Party from = queue.sends.front();
  const Party to = queue.receives.front();
  queue.sends.pop_front();
  queue.receives.pop_front();
  if (queue.sends.empty() && queue.receives.empty()) queues_.erase(key);
  if (from.size != to.size) {
    throw SimulationError{fmt::format(
        "a send and its receive disagree on the size\n  rank {}: node {}: send of {} to rank {}, tag "
        "{}\n  rank {}: node {}: receive of {} from rank {}, tag {}",
        from.rank, from.id, orrery::to_text(from.size), to.rank, std::get<2>(key), to.rank, to.id,
        orrery::to_text(to.size), from.rank, std::get<2>(key))};
  }
  Transfer& transfer = transfers_[from.transfer];
  transfer.to = to;
  transfer.is_matched = true;
  setup_.listener.on_under_way(to.rank, to.slot);
  if (!transfer.is_eager) {
    begin(from.transfer);
  } else if (transfer.has_arrived) {
    take(from.transfer);
  }
}

void MessageBoard::begin(std::uint32_t index) {
  Transfer& transfer = transfers_[index];
  transfer.began = setup_.engine.now();
  ++in_flight_;
  ++count_;
  bytes_ += transfer.from.size;
  setup_.listener.on_under_way(transfer.from.rank, transfer.from.slot);
  const topology::DeviceSpec& sender = device(transfer.from.rank);
  const Duration overhead = transfer.from.wake + sender.send_overhead +
                            topology::cost_at(sender.operation_costs.send_recv, transfer.from.size);
  if (overhead == Duration{}) return leave(index);
  setup_.engine.schedule(setup_.engine.now() + overhead, engine::Phase::kWake, origin_, *this, index);
}

void MessageBoard::leave(std::uint32_t index) {
  const Transfer& transfer = transfers_[index];
  const Rank from = transfer.from.rank;
  const Rank to = transfer.target;
  network::StreamId& stream = streams_[{from, to}];
  if (!stream.is_valid()) stream = setup_.network.open_stream();
  setup_.network.send({.route = setup_.router.route(setup_.cluster.ranks[from], setup_.cluster.ranks[to]),
                       .size = transfer.from.size,
                       .stream = stream,
                       .receiver = this,
                       .cookie = index});
}

void MessageBoard::on_delivered(std::uint64_t cookie) {
  const auto index = static_cast<std::uint32_t>(cookie);
  Transfer& transfer = transfers_[index];
  transfer.has_arrived = true;
  --in_flight_;
  if (transfer.is_eager) end(transfer.from);
  if (transfer.is_matched) take(index);
}

void MessageBoard::take(std::uint32_t index) {
  const Duration overhead = device(transfers_[index].to.rank).receive_overhead;
  if (overhead == Duration{}) return taken(index);
  setup_.engine.schedule(setup_.engine.now() + overhead, engine::Phase::kWake, origin_, *this,
                         kTaken + index);
}

void MessageBoard::taken(std::uint32_t index) {
  const Transfer transfer = transfers_[index];
  transfers_.give_back(index);
  if (engine::Observer* observer = setup_.engine.observer(); observer != nullptr) {
    observer->flow(observer->track("communication", fmt::format("rank {}", transfer.from.rank)),
                   transfer.began, observer->track("communication", fmt::format("rank {}", transfer.to.rank)),
                   setup_.engine.now());
  }
  if (!transfer.is_eager) end(transfer.from);
  end(transfer.to);
}

void MessageBoard::end(const Party& party) {
  setup_.wakefulness.end(party.rank, setup_.engine.now());
  setup_.listener.on_communicated(party.rank, party.slot);
}

void MessageBoard::on_event(std::uint64_t payload) {
  if (payload >= kTaken) {
    taken(static_cast<std::uint32_t>(payload - kTaken));
  } else {
    leave(static_cast<std::uint32_t>(payload));
  }
}

}  // namespace orrery::workload
