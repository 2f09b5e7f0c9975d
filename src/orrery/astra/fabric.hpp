// SPDX-License-Identifier: Apache-2.0
#pragma once
/// ASTRA-sim's two analytical networks.
///
/// Unaware: a message arrives after floor(hops * latency + size / bandwidth) ns; nothing is shared. With several
/// dimensions only the lowest one in which source and target differ is charged.
/// Aware (one dimension): a link takes one whole message at a time, first come, first served; it is taken for
/// floor(size / bandwidth), and the message is at the next device after floor(latency + size / bandwidth).
///
/// Both are part of this module and no network model of the registry, because the cycles depend on the order of
/// events within an instant (docs/decisions/0004-astra.md).
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "orrery/astra/channels.hpp"
#include "orrery/astra/instants.hpp"
#include "orrery/astra/settings.hpp"
#include "orrery/base/pool.hpp"

namespace orrery::astra {

struct Message {
  std::uint32_t channel = 0;
  std::uint32_t next = kNone;  ///< Behind it in a link's queue.
  std::uint32_t link = 0;      ///< On which it is, or for which it waits.
  std::uint32_t hops = 0;      ///< Still to go.
  Notice sent{};               ///< Told when it arrives.
};

/// Actors that have no number of their own (see Provenance).
inline constexpr std::uint32_t kActorSelf = 0;
inline constexpr std::uint32_t kActorSwitch = 1;
inline constexpr std::uint32_t kActorPeers = 2;  ///< Plus what separates the peer from oneself.

class Fabric {
 public:
  /// `folded`: one rank stands for all, and the target of a channel is its distance from the source.
  Fabric(const NetworkSettings& network, bool is_aware, bool folded, Instants& instants, Channels& channels);

  /// Fills in the way of a channel.
  void prepare(Channel& channel);
  void send(std::uint32_t channel, const Notice& sent);
  /// The message is at the next device. True when that is the target; then the caller takes it with `take`.
  [[nodiscard]] bool advance(std::uint32_t message);
  [[nodiscard]] Message take(std::uint32_t message) {
    const Message taken = messages_[message];
    messages_.give_back(message);
    return taken;
  }
  void release(std::uint32_t link);
  /// The message is on its way to a switch, not to a rank.
  [[nodiscard]] bool is_before_switch(std::uint32_t message) const {
    return is_aware_ && shape_ == Shape::kSwitch && messages_[message].hops == 2;
  }
  /// The link leaves a switch.
  [[nodiscard]] bool leaves_switch(std::uint32_t link) const {
    return shape_ == Shape::kSwitch && link >= (folded_ ? 1 : npus_);
  }
  [[nodiscard]] bool crosses_dimensions() const { return crosses_dimensions_; }
  [[nodiscard]] const Message& message(std::uint32_t number) const { return messages_[number]; }

 private:
  struct Link {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    bool busy = false;
  };
  void enter(std::uint32_t message);
  void transmit(std::uint32_t message);
  [[nodiscard]] std::uint32_t next_link(const Message& message) const;
  void prepare_unaware(Channel& channel);
  void prepare_aware(Channel& channel);
  [[nodiscard]] std::uint32_t actor_of(const Message& message) const;

  std::vector<Dimension> dims_;
  Shape shape_;
  std::uint32_t npus_;
  bool is_aware_;
  bool folded_;
  bool crosses_dimensions_ = false;
  Instants& instants_;
  Channels& channels_;
  Pool<Message> messages_;
  std::vector<Link> links_;
  std::unordered_map<std::uint64_t, std::uint32_t> pair_links_;  // Fully connected: made when first used.
};

}  // namespace orrery::astra
