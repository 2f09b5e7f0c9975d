// SPDX-License-Identifier: Apache-2.0
// Sends and receives, eager or after a handshake.
#include <fmt/format.h>

#include "orrery/astra/custom_run.hpp"
#include "orrery/astra/machine.hpp"

namespace orrery::astra {
namespace {

constexpr std::uint64_t kHandshakeBytes = 8192;
constexpr std::uint32_t kHandshakeTags = 1'000'000'000;  // Tags of handshakes start here.
constexpr std::uint64_t kRendezvousMax = 2147483647;     // ASTRA-sim keeps the size as int there.

}  // namespace

ChannelKey Machine::key_to(std::uint32_t rank, std::uint32_t target, std::uint32_t tag,
                           std::uint64_t size) const {
  return {.tag = tag, .source = rank, .target = target, .size = size};
}

ChannelKey Machine::key_from(std::uint32_t rank, std::uint32_t source, std::uint32_t tag,
                             std::uint64_t size) const {
  if (folding_ != nullptr) {
    return {.tag = tag, .source = 0, .target = folding_->opposite(source), .size = size};
  }
  return {.tag = tag, .source = source, .target = rank, .size = size};
}

void Machine::check_size(std::uint32_t rank, std::uint64_t size) const {
  if (size == 0) {
    throw SimulationError{fmt::format(
        "rank {} sends or receives a message of 0 bytes at cycle {}, which aborts ASTRA-sim; make the "
        "operation larger (halvingDoubling needs chunks of at least twice its NPUs in bytes)",
        rank, instants_.now())};
  }
  if (inputs_.is_rendezvous && size > kRendezvousMax) {
    throw SimulationError{
        fmt::format("rank {}: a message of {} bytes; with the rendezvous protocol ASTRA-sim takes at most {}",
                    rank, size, kRendezvousMax)};
  }
}

void Machine::send(std::uint32_t rank, std::uint32_t target, std::uint32_t tag, std::uint64_t size,
                   const Notice& notice) {
  check_size(rank, size);
  const ChannelKey key = key_to(rank, target, tag, size);
  if (!inputs_.is_rendezvous) {
    fabric_.send(channels_.open(key), notice);
    return;
  }
  // The data leaves when the target's word is there.
  const std::uint32_t number = handshakes_.take();
  handshakes_[number] = {.key = key, .notice = notice};
  const ChannelKey word = key_from(rank, target, tag + kHandshakeTags, kHandshakeBytes);
  post_receive(channels_.open(word), {.kind = Notice::Kind::kRendezvousSend, .subject = number});
}

void Machine::receive(std::uint32_t rank, std::uint32_t source, std::uint32_t tag, std::uint64_t size,
                      const Notice& notice) {
  check_size(rank, size);
  const ChannelKey key = key_from(rank, source, tag, size);
  if (!inputs_.is_rendezvous) {
    post_receive(channels_.open(key), notice);
    return;
  }
  const std::uint32_t number = handshakes_.take();
  handshakes_[number] = {.key = key, .notice = notice};
  const ChannelKey word = key_to(rank, source, tag + kHandshakeTags, kHandshakeBytes);
  fabric_.send(channels_.open(word), {.kind = Notice::Kind::kRendezvousReceive, .subject = number});
}

void Machine::post_receive(std::uint32_t number, const Notice& notice) {
  Channel& channel = channels_[number];
  if (channel.early == 0) {
    channels_.wait(channel, notice);
    return;
  }
  --channel.early;
  channels_.forget_if_idle(number);
  const std::uint32_t kept = notices_.take();
  notices_[kept] = notice;
  instants_.add(0, EventKind::kReceive, kept, kActorSelf);
}

/// The sender is told first, then the receiver.
void Machine::deliver(std::uint32_t number) {
  const Message message = fabric_.take(number);
  Channel& channel = channels_[message.channel];
  --channel.under_way;
  if (!channel.has_waiting) {
    ++channel.early;
    if (message.sent.kind != Notice::Kind::kNobody) notify(message.sent);
    return;
  }
  const Notice received = channels_.pop_waiting(channel);
  channels_.forget_if_idle(message.channel);
  if (message.sent.kind != Notice::Kind::kNobody) notify(message.sent);
  notify(received);
}

void Machine::notify(const Notice& notice) {
  switch (notice.kind) {
    case Notice::Kind::kNobody:
      break;
    case Notice::Kind::kChunk:
      chunk_received(notice.subject);
      break;
    case Notice::Kind::kStep:
      complete(notice.subject, notice.step);
      break;
    case Notice::Kind::kCustom:
      chunks_[notice.subject].custom->done(notice.step);
      break;
    case Notice::Kind::kRendezvousSend: {
      const Handshake handshake = handshakes_[notice.subject];
      handshakes_.give_back(notice.subject);
      fabric_.send(channels_.open(handshake.key), handshake.notice);
      break;
    }
    case Notice::Kind::kRendezvousReceive: {
      const Handshake handshake = handshakes_[notice.subject];
      handshakes_.give_back(notice.subject);
      post_receive(channels_.open(handshake.key), handshake.notice);
      break;
    }
  }
}

}  // namespace orrery::astra
