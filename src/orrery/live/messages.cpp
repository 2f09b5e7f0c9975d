// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orrery/live/operation_text.hpp"

namespace orrery::live {
namespace {

/// Events of a transfer: it leaves after the sender's overhead, or is taken after the receiver's.
constexpr std::uint64_t kTaken = std::uint64_t{1} << 40;

}  // namespace

Messages::Messages(engine::Engine& engine, network::NetworkModel& network, topology::Router& router,
                   const topology::Cluster& cluster, Arena& arena, EndListener& listener,
                   collectives::Wakefulness& wakefulness)
    : engine_{engine},
      network_{network},
      router_{router},
      cluster_{cluster},
      arena_{arena},
      listener_{listener},
      wakefulness_{wakefulness},
      origin_{engine.add_origin("messages")} {}

const topology::DeviceSpec& Messages::device(std::uint32_t rank) const {
  return cluster_.devices[cluster_.device_of_rank[rank]];
}

void Messages::send(Group& group, std::uint32_t rank, orrery_op& op) {
  Queue& queue = queues_[{&group, static_cast<std::uint32_t>(op.peer), op.tag}];
  const Duration wake = wakefulness_.wake(rank, "send_recv", Bytes{total_bytes(op)}, engine_.now());
  queue.sends.push_back({rank, group.member_of.at(rank), &op, wake, next_number_++});
  match(group, queue);
}

void Messages::receive(Group& group, std::uint32_t rank, orrery_op& op) {
  const std::uint32_t member = group.member_of.at(rank);
  Queue& queue = queues_[{&group, member, op.tag}];
  queue.receives.push_back({rank, member, &op, {}, next_number_++});
  match(group, queue);
}

void Messages::match(Group& group, Queue& queue) {
  // Each receive, oldest first, takes the oldest send it may take.
  for (auto receive = queue.receives.begin(); receive != queue.receives.end();) {
    const std::int32_t wanted = receive->op->peer;
    const auto send = std::ranges::find_if(queue.sends, [&](const Party& party) {
      return wanted < 0 || party.member == static_cast<std::uint32_t>(wanted);
    });
    if (send == queue.sends.end()) {
      ++receive;
      continue;
    }
    const Party from = *send;
    const Party to = *receive;
    queue.sends.erase(send);
    receive = queue.receives.erase(receive);
    start(group, from, to);
  }
}

void Messages::start(Group& group, const Party& from, const Party& to) {
  const std::int64_t sent = sizes_of(*from.op)[0];
  const std::int64_t taken = sizes_of(*to.op)[0];
  if (sent > taken) {  // A shorter one fills the beginning.
    throw SimulationError{
        fmt::format("a message does not fit into what is to receive it\n  rank {}: {}\n  rank {}: {}",
                    from.rank, to_text(*from.op, group), to.rank, to_text(*to.op, group))};
  }
  std::uint64_t index = transfers_.size();
  if (free_.empty()) {
    transfers_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  transfers_[index] = {.group = &group,
                       .from = from,
                       .to = to,
                       .began = engine_.now(),
                       .size = Bytes{sent},
                       .is_free = false};
  bytes_ += sent;
  ++count_;
  const topology::DeviceSpec& sender = device(from.rank);
  const Duration overhead =
      from.wake + sender.send_overhead + topology::cost_at(sender.operation_costs.send_recv, Bytes{sent});
  if (overhead == Duration{}) return leave(index);
  engine_.schedule(engine_.now() + overhead, engine::Phase::kWake, origin_, *this, index);
}

void Messages::leave(std::uint64_t index) {
  const Transfer& transfer = transfers_[index];
  if (transfer.is_lost) return release(index);
  const std::uint32_t from = transfer.from.rank;
  const std::uint32_t to = transfer.to.rank;
  network::StreamId& stream = streams_[{from, to}];
  if (!stream.is_valid()) stream = network_.open_stream();
  network_.send({.route = router_.route(cluster_.ranks[from], cluster_.ranks[to]),
                 .size = transfer.size,
                 .stream = stream,
                 .receiver = this,
                 .cookie = index});
}

void Messages::on_delivered(std::uint64_t index) {
  if (transfers_[index].is_lost) return release(index);
  const Duration overhead = device(transfers_[index].to.rank).receive_overhead;
  if (overhead == Duration{}) return arrived(index);
  engine_.schedule(engine_.now() + overhead, engine::Phase::kWake, origin_, *this, kTaken + index);
}

void Messages::on_event(std::uint64_t payload) {
  if (payload >= kTaken) {
    arrived(payload - kTaken);
  } else {
    leave(payload);
  }
}

void Messages::release(std::uint64_t index) {
  transfers_[index].is_free = true;
  free_.push_back(index);
}

void Messages::arrived(std::uint64_t index) {
  const Transfer transfer = transfers_[index];
  release(index);
  if (transfer.is_lost) return;
  for (const Party& party : {transfer.from, transfer.to}) wakefulness_.end(party.rank, engine_.now());
  if (engine::Observer* observer = engine_.observer(); observer != nullptr) {
    const Group& group = *transfer.group;
    observer->flow(observer->track("communication", group.names[transfer.from.member]), transfer.began,
                   observer->track("communication", group.names[transfer.to.member]), engine_.now());
  }
  const std::int64_t sent = arena_.offset_of(transfer.from.op);
  listener_.on_ended(transfer.from.rank, {.operation = sent, .began = transfer.began});
  listener_.on_ended(transfer.to.rank, {.operation = arena_.offset_of(transfer.to.op),
                                        .began = transfer.began,
                                        .match = sent,
                                        .source = static_cast<std::int32_t>(transfer.from.member)});
}

void Messages::end(Party& party, const std::string& reason) {
  orrery_op* const op = std::exchange(party.op, nullptr);
  if (op == nullptr) return;
  listener_.on_ended(party.rank, {.operation = arena_.offset_of(op), .began = engine_.now(), .reason = reason});
}

void Messages::fail(Group& group, std::uint32_t rank, orrery_op& op, const std::string& reason) {
  const bool is_send = op.kind == ORRERY_SEND;
  const std::uint32_t target = is_send ? static_cast<std::uint32_t>(op.peer) : group.member_of.at(rank);
  Queue& queue = queues_[{&group, target, op.tag}];
  std::deque<Party>& parties = is_send ? queue.sends : queue.receives;
  const auto found = std::ranges::find(parties, &op, &Party::op);
  if (found != parties.end()) {
    Party party = *found;
    parties.erase(found);
    return end(party, reason);
  }
  const auto side = is_send ? &Transfer::from : &Transfer::to;
  for (Transfer& transfer : transfers_) {
    if (transfer.is_free || (transfer.*side).op != &op) continue;
    Party own = std::exchange(transfer.*side, {});
    Party other = std::exchange(is_send ? transfer.to : transfer.from, {});
    transfer.is_lost = true;
    end(own, reason);
    return end(other, fmt::format("Connection closed by peer: rank {} gave up", rank));
  }
}

void Messages::put_back(std::deque<Party>& parties, const Party& party) {
  parties.insert(std::ranges::upper_bound(parties, party.number, {}, &Party::number), party);
}

void Messages::withdraw(std::uint32_t rank) {
  for (auto& [tag, queue] : queues_) {
    for (std::deque<Party>* parties : {&queue.sends, &queue.receives}) {
      std::erase_if(*parties, [&](const Party& party) { return party.rank == rank; });
    }
  }
  // The other side of what was under way waits again, as if nothing had come.
  std::vector<std::pair<Group*, Queue*>> queues;
  for (Transfer& transfer : transfers_) {
    if (transfer.is_free || transfer.is_lost) continue;
    if (transfer.from.rank != rank && transfer.to.rank != rank) continue;
    Queue& queue = queues_[{transfer.group, transfer.to.member, transfer.to.op->tag}];
    if (transfer.from.rank != rank) put_back(queue.sends, transfer.from);
    if (transfer.to.rank != rank) put_back(queue.receives, transfer.to);
    bytes_ -= transfer.size.count();
    --count_;
    transfer.from = transfer.to = {};
    transfer.is_lost = true;
    queues.emplace_back(transfer.group, &queue);
  }
  for (const auto& [group, queue] : queues) match(*group, *queue);
}

}  // namespace orrery::live
