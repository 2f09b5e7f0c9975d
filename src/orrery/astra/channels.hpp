// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Who a message is for. ASTRA-sim pairs the n-th send with the n-th receive of the same tag, source, target and
/// size; such a series is a channel here. Messages of a channel arrive in order, so counting is enough.
#include <cstdint>
#include <functional>
#include <vector>

#include "orrery/base/pool.hpp"

namespace orrery::astra {

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

/// Whom to tell when a send or a receive is done.
struct Notice {
  enum class Kind : std::uint8_t {
    kNobody,
    kChunk,           ///< `subject` is a chunk: it has received.
    kStep,            ///< Rank `subject` has done `step` of its workload.
    kCustom,          ///< Chunk `subject` has done `step` of its custom collective.
    kRendezvousSend,  ///< The target is ready: send handshake `subject`'s message now.
    kRendezvousReceive,
  };
  Kind kind = Kind::kNobody;
  std::uint32_t subject = 0;
  std::uint32_t step = 0;
};

struct ChannelKey {
  std::uint32_t tag = 0;
  std::uint32_t source = 0;
  std::uint32_t target = 0;
  std::uint64_t size = 0;
  bool operator==(const ChannelKey&) const = default;
};

struct Channel {
  ChannelKey key{};
  std::uint64_t flight = 0;  ///< ns to the next device (to the target, where nothing is shared).
  std::uint64_t busy = 0;    ///< ns that a link is taken.
  std::uint32_t link = 0;    ///< First link of the way.
  std::uint32_t hops = 0;
  std::uint32_t hash = 0;
  std::uint32_t users = 0;      ///< Chunks that hold on to it.
  std::uint32_t under_way = 0;  ///< Messages.
  std::uint32_t early = 0;      ///< Messages that arrived before their receive was posted.
  bool has_waiting = false;
  Notice waiting{};  ///< Who has waited longest; others follow in a list.
  std::uint32_t first_behind = kNone;
  std::uint32_t last_behind = kNone;
};

class Channels {
 public:
  /// `prepare` fills in the way of a new channel.
  explicit Channels(std::function<void(Channel&)> prepare) : prepare_{std::move(prepare)} {
    table_.resize(kInitialTable, kNone);
  }

  [[nodiscard]] Channel& operator[](std::uint32_t number) { return pool_[number]; }
  /// The channel of `key`, made when there is none.
  [[nodiscard]] std::uint32_t open(const ChannelKey& key);
  void hold(std::uint32_t number) { ++pool_[number].users; }
  void let_go(std::uint32_t number) {
    --pool_[number].users;
    forget_if_idle(number);
  }
  /// Forgets a channel on which everything sent was received: counting may start anew.
  void forget_if_idle(std::uint32_t number) {
    const Channel& channel = pool_[number];
    if (channel.users == 0 && channel.under_way == 0 && channel.early == 0 && !channel.has_waiting) {
      forget(number);
    }
  }

  void wait(Channel& channel, const Notice& notice) {
    if (channel.has_waiting) {
      wait_behind(channel, notice);
      return;
    }
    channel.has_waiting = true;
    channel.waiting = notice;
  }
  /// Who has waited longest; the channel has somebody waiting.
  [[nodiscard]] Notice pop_waiting(Channel& channel) {
    const Notice notice = channel.waiting;
    channel.has_waiting = false;
    if (channel.first_behind != kNone) move_up(channel);
    return notice;
  }

  /// Channels in use, for reports.
  [[nodiscard]] std::vector<const Channel*> open_channels() const;

 private:
  struct Waiting {
    Notice notice{};
    std::uint32_t next = kNone;
  };
  static constexpr std::size_t kInitialTable = 1024;
  void wait_behind(Channel& channel, const Notice& notice);
  void move_up(Channel& channel);
  void forget(std::uint32_t number);
  void grow();

  std::function<void(Channel&)> prepare_;
  Pool<Channel> pool_;
  Pool<Waiting> waiting_;
  std::vector<std::uint32_t> table_;
  std::size_t used_ = 0;
};

}  // namespace orrery::astra
