// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/fabric.hpp"

#include <algorithm>

namespace orrery::astra {
namespace {

/// Hops between two places of a dimension; `forward` says whether the way up is taken (rings: the shorter one).
std::uint32_t hops_between(const Dimension& dim, std::uint32_t source, std::uint32_t target, bool& forward) {
  forward = true;
  if (dim.shape == Shape::kFullyConnected) return 1;
  if (dim.shape == Shape::kSwitch) return 2;
  const std::uint32_t up = (target + dim.size - source) % dim.size;
  forward = dim.size - up >= up;
  return std::min(up, dim.size - up);
}

}  // namespace

Fabric::Fabric(const NetworkSettings& network, bool is_aware, bool folded, Instants& instants,
               Channels& channels)
    : dims_{network.dims},
      shape_{network.dims[0].shape},
      npus_{network.npus()},
      is_aware_{is_aware},
      folded_{folded},
      instants_{instants},
      channels_{channels} {
  // A ring has two links per rank, a switch one up and one down.
  if (is_aware_ && shape_ != Shape::kFullyConnected) links_.resize(folded_ ? 2 : std::size_t{2} * npus_);
}

void Fabric::prepare(Channel& channel) {
  if (is_aware_) {
    prepare_aware(channel);
  } else {
    prepare_unaware(channel);
  }
}

void Fabric::prepare_unaware(Channel& channel) {
  std::uint32_t source = channel.key.source;
  std::uint32_t target = channel.key.target;
  for (const Dimension& dim : dims_) {
    if (source % dim.size == target % dim.size) {
      source /= dim.size;
      target /= dim.size;
      continue;
    }
    bool forward = true;
    const std::uint32_t hops = hops_between(dim, source % dim.size, target % dim.size, forward);
    const double latency = static_cast<double>(hops) * dim.latency;
    channel.flight =
        static_cast<std::uint64_t>(latency + static_cast<double>(channel.key.size) / dim.bandwidth);
    channel.hops = 1;
    crosses_dimensions_ = crosses_dimensions_ || source / dim.size != target / dim.size;
    return;
  }
  ORRERY_CHECK(false, "rank {} sends to itself", channel.key.source);
}

void Fabric::prepare_aware(Channel& channel) {
  const Dimension& dim = dims_[0];
  const double taken = static_cast<double>(channel.key.size) / dim.bandwidth;
  channel.busy = static_cast<std::uint64_t>(taken);
  channel.flight = static_cast<std::uint64_t>(dim.latency + taken);
  bool forward = true;
  channel.hops = hops_between(dim, channel.key.source, channel.key.target, forward);
  switch (shape_) {
    case Shape::kRing:
      channel.link = (folded_ ? 0 : 2 * channel.key.source) + (forward ? 0 : 1);
      break;
    case Shape::kSwitch:
      channel.link = folded_ ? 0 : channel.key.source;
      break;
    case Shape::kFullyConnected: {
      const std::uint64_t pair = (std::uint64_t{channel.key.source} << 32U) | channel.key.target;
      const auto [found, is_new] = pair_links_.try_emplace(pair, static_cast<std::uint32_t>(links_.size()));
      if (is_new) links_.emplace_back();
      channel.link = found->second;
      break;
    }
  }
}

void Fabric::send(std::uint32_t channel, const Notice& sent) {
  Channel& way = channels_[channel];
  ++way.under_way;
  const std::uint32_t number = messages_.take();
  messages_[number] = {.channel = channel, .next = kNone, .link = way.link, .hops = way.hops, .sent = sent};
  if (is_aware_) {
    enter(number);
  } else {
    instants_.add(way.flight, EventKind::kArrival, number, kActorPeers + way.key.target);
  }
}

bool Fabric::advance(std::uint32_t number) {
  Message& message = messages_[number];
  if (--message.hops == 0) return true;
  message.link = next_link(message);
  enter(number);
  return false;
}

std::uint32_t Fabric::next_link(const Message& message) const {
  if (shape_ == Shape::kSwitch) return folded_ ? 1 : npus_ + channels_[message.channel].key.target;
  if (folded_) return message.link;
  const std::uint32_t at = message.link / 2;
  const std::uint32_t side = message.link % 2;
  const std::uint32_t next = side == 0 ? (at + 1) % npus_ : (at + npus_ - 1) % npus_;
  return 2 * next + side;
}

void Fabric::enter(std::uint32_t number) {
  Link& link = links_[messages_[number].link];
  if (!link.busy) {
    transmit(number);
    return;
  }
  if (link.first == kNone) {
    link.first = number;
  } else {
    messages_[link.last].next = number;
  }
  link.last = number;
}

/// Arrival first, then the link's freedom: the order in which ASTRA-sim inserts them.
void Fabric::transmit(std::uint32_t number) {
  const Message& message = messages_[number];
  links_[message.link].busy = true;
  const Channel& channel = channels_[message.channel];
  instants_.add(channel.flight, EventKind::kArrival, number, actor_of(message));
  instants_.add(channel.busy, EventKind::kLinkFree, message.link, kActorSelf);
}

/// Who puts the message on its link, as whoever it arrives at sees it.
std::uint32_t Fabric::actor_of(const Message& message) const {
  if (shape_ == Shape::kRing) return kActorPeers + message.link % 2;
  if (shape_ == Shape::kSwitch && message.hops == 1) return kActorSwitch;
  return kActorPeers + channels_[message.channel].key.target;
}

void Fabric::release(std::uint32_t number) {
  Link& link = links_[number];
  link.busy = false;
  if (link.first == kNone) return;
  const std::uint32_t message = link.first;
  link.first = messages_[message].next;
  messages_[message].next = kNone;
  transmit(message);
}

}  // namespace orrery::astra
