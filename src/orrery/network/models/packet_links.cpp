// SPDX-License-Identifier: Apache-2.0
// Ports as their links are now, what a change does to packets in front of one, and routes as rows of ports.
#include <algorithm>

#include "orrery/network/models/packet_net.hpp"

namespace orrery::network {

using namespace detail;

void PacketNet::find_cuts() {
  const bool cuts_through = spec_.forwarding == "cut_through";
  // Sockets and network cards pass bits on as they come; what stores packets is a switch, a device, a processor.
  const auto is_socket = [&](topology::NodeId node) {
    const topology::NodeKind kind = graph_.kind(node);
    return kind == topology::NodeKind::kPort || kind == topology::NodeKind::kNic;
  };
  for (const topology::Graph::Edge& edge : graph_.edges()) {
    const bool is_shared = edge.forward == edge.backward;
    const bool to_b = is_socket(edge.b) && (!is_shared || is_socket(edge.a));
    ports_[edge.forward.index()].is_cut = cuts_through || to_b;
    more_[edge.forward.index()].is_socket = to_b;
    if (is_shared) continue;
    ports_[edge.backward.index()].is_cut = cuts_through || is_socket(edge.a);
    more_[edge.backward.index()].is_socket = is_socket(edge.a);
  }
}

void PacketNet::set_port(std::uint32_t link, const LinkState& state) {
  Port& port = ports_[link];
  PortMore& more = more_[link];
  port.latency = count_ps(state.latency);
  if (port.is_down) --down_;
  port.is_down = !state.up || state.bandwidth == Bandwidth{};
  if (port.is_down) ++down_;
  if (port.is_down) return;
  more.bits_per_second = static_cast<std::uint64_t>(state.bandwidth.bits_per_second());
  const auto time_of = [&](std::int64_t bytes) {
    return count_ps(transfer_time(Bytes{bytes}, state.bandwidth));
  };
  port.full_time = time_of(full_bytes_);
  port.head_time = more.is_socket ? 0 : time_of(header_);
  if (loss_ == Loss::kDrop) more.drop_wait = std::max(time_of(buffer_), 2 * port.full_time);
  if (control_ != Control::kDcqcn) return;
  more.mark_from = time_of(spec_.ecn_min.count());
  more.mark_all = std::max(more.mark_from + 1, time_of(spec_.ecn_max.count()));
}

void PacketNet::change_link(topology::LinkId id, const LinkState& state) {
  const std::uint32_t link = id.value();
  const std::int64_t now = count_ps(engine_.now());
  if (batch_.is_on) leave_batch(now);
  if (more_[link].train != kNobody) break_train(more_[link].train, now);
  const Port old = ports_[link];  // With its ring, which is not looked at.
  paths_.change_link(id, state);
  set_port(link, state);
  // Packets that wait are counted in time; longer queues than now are kept in bytes.
  if (old.full_time > 0) {
    const std::int64_t bytes = div_ceil(old.worst_wait, old.full_time) * full_bytes_;
    more_[link].worst_queue = std::max(more_[link].worst_queue, bytes);
    ports_[link].worst_wait = 0;
  }
  if (is_blocking_) {
    // Nothing overtakes what is on the wire.
    if (ports_[link].latency < old.latency) {
      ports_[link].free = std::max(old.free, now + old.latency - ports_[link].latency);
      queue_->push({ports_[link].free, pack_key(PacketKind::kPort, link), 0, 0});
    }
    if (!ports_[link].is_down) try_send(link, now);
    return;
  }
  if (!old.is_down) retime(link, now, old);
  if (old.is_down && !ports_[link].is_down) come_up(link, now);
}

/// All that the port accepted and has not sent by now is sent at the new speed, or kept while it is down. Sending
/// goes on without a gap from now to `free`, so times to come stretch in proportion.
void PacketNet::retime(std::uint32_t link, std::int64_t now, const Port& old) {
  Port& port = ports_[link];
  PortMore& more = more_[link];
  const auto is_of_port = [&](const Event& event) {
    if (kind_of(event.key) != PacketKind::kPacket || (event.info & kLocal) != 0) return false;
    return crossed(event) == link;
  };
  more.held_time = old.full_time;
  more.held_free = std::max<std::int64_t>(0, old.free - now);
  std::vector<Event> leaving;
  for (const Event& event : queue_->drain()) {
    if (is_of_port(event)) {
      leaving.push_back(event);
    } else {
      queue_->push(event);
    }
  }
  while (port.ring.size() > 0) leaving.push_back(port.ring.pop());
  port.leaving = 0;
  for (Event& event : leaving) {
    const std::uint32_t bytes = event.info & kBytesMask;
    const std::int64_t time = old_send_time(old, bytes);
    const bool at_target = (event.info & kAtTarget) != 0;
    const std::int64_t head = at_target ? time : head_start(old, pool_[event.pos] & ~kLastHop, bytes, time);
    const std::int64_t end = event.time - old.latency - head + time;
    if (end <= now) {
      emit(link, event);  // On the wire.
      more.last_landing = event.time;
    } else {
      event.time = end - now;
      more.held.push_back(event);
    }
  }
  if (!port.is_down) release_held(link, now);
}

std::int64_t PacketNet::old_send_time(const Port& old, std::uint32_t bytes) const {
  if (bytes == full_bytes_) return old.full_time;
  return div_ceil(old.full_time * bytes, full_bytes_);
}

void PacketNet::release_held(std::uint32_t link, std::int64_t now) {
  Port& port = ports_[link];
  PortMore& more = more_[link];
  // Nothing overtakes what is on the wire: when the latency fell, that comes in first.
  now = std::max(now, more.last_landing - port.latency);
  const auto stretch = [&](std::int64_t time) {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>((Wide{time} * port.full_time + more.held_time - 1) / more.held_time);
  };
  port.free = now + stretch(more.held_free);
  for (Event event : more.held) {
    const std::uint32_t bytes = event.info & kBytesMask;
    const std::int64_t time = send_time(link, bytes);
    const bool at_target = (event.info & kAtTarget) != 0;
    const std::int64_t head = at_target ? time : head_start(port, pool_[event.pos] & ~kLastHop, bytes, time);
    event.time = std::max(now, now + stretch(event.time) - time + head) + port.latency;
    emit(link, event);
  }
  more.held.clear();
  more.held_free = 0;
}

void PacketNet::come_up(std::uint32_t link, std::int64_t now) {
  release_held(link, now);
  std::vector<Event> waiting;
  waiting.swap(more_[link].waiting);
  for (Event event : waiting) {
    event.time = now;
    arrive(event);
  }
  if (senders_[link].head != kNobody || more_[link].under_way.size() > 0) {
    wake_sender(link, std::max(now, ports_[link].free));
  }
}

std::uint32_t PacketNet::add_route(std::span<const topology::LinkId> links) {
  const auto first = static_cast<std::uint32_t>(pool_.size());
  for (const topology::LinkId link : links) pool_.push_back(link.value());
  pool_.back() |= kLastHop;
  add_lanes(first);
  return first;
}

std::uint32_t PacketNet::first_hop(topology::RouteId route) {
  if (first_of_route_.size() <= route.index()) first_of_route_.resize(route.index() + 1, kNobody);
  std::uint32_t& first = first_of_route_[route.index()];
  if (first == kNobody) first = add_route(router_.links(route));
  return first;
}

namespace {

/// The ends of each link; a shared cable has none, as it may be crossed either way.
std::vector<std::pair<topology::NodeId, topology::NodeId>> link_ends(const topology::Graph& graph) {
  std::vector<std::pair<topology::NodeId, topology::NodeId>> ends(graph.link_count());
  for (const topology::Graph::Edge& edge : graph.edges()) {
    if (edge.forward == edge.backward) continue;
    ends[edge.forward.index()] = {edge.a, edge.b};
    ends[edge.backward.index()] = {edge.b, edge.a};
  }
  return ends;
}

}  // namespace

/// First places of the different routes with the same ends; its own is the first. Packets of one message leave their
/// host by one link.
const std::vector<std::uint32_t>& PacketNet::sprays(topology::RouteId route) {
  if (sprays_of_route_.size() <= route.index()) sprays_of_route_.resize(route.index() + 1);
  if (!sprays_of_route_[route.index()].empty()) return sprays_of_route_[route.index()];
  if (ends_.empty()) ends_ = link_ends(graph_);
  const std::span<const topology::LinkId> own = router_.links(route);
  std::vector<std::uint32_t> ways{first_hop(route)};
  const topology::NodeId source = ends_[own.front().index()].first;
  const topology::NodeId target = ends_[own.back().index()].second;
  std::vector<std::span<const topology::LinkId>> known{own};
  for (std::uint32_t label = 0; source.is_valid() && target.is_valid() && label < spec_.spray_paths;
       ++label) {
    const std::span<const topology::LinkId> links = router_.links(router_.route(source, target, label));
    const auto is_same = [&](std::span<const topology::LinkId> other) {
      return std::ranges::equal(links, other);
    };
    if ((is_spraying_ && links.front() != own.front()) || std::ranges::any_of(known, is_same)) continue;
    known.push_back(links);
    ways.push_back(add_route(links));
  }
  return sprays_of_route_[route.index()] = std::move(ways);
}

}  // namespace orrery::network
