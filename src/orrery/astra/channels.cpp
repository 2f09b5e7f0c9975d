// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/channels.hpp"

namespace orrery::astra {
namespace {

std::uint32_t hash_of(const ChannelKey& key) {
  std::uint64_t mixed = (key.size * 0x9E3779B97F4A7C15ULL) ^ key.tag;
  mixed = (mixed ^ (mixed >> 31U)) * 0xBF58476D1CE4E5B9ULL;
  mixed ^= (static_cast<std::uint64_t>(key.source) << 32U) | key.target;
  mixed = (mixed ^ (mixed >> 29U)) * 0x94D049BB133111EBULL;
  return static_cast<std::uint32_t>(mixed >> 32U);
}

}  // namespace

std::uint32_t Channels::open(const ChannelKey& key) {
  const std::uint32_t hash = hash_of(key);
  std::size_t slot = hash & (table_.size() - 1);
  while (table_[slot] != kNone) {
    const Channel& channel = pool_[table_[slot]];
    if (channel.hash == hash && channel.key == key) return table_[slot];
    slot = (slot + 1) & (table_.size() - 1);
  }
  const std::uint32_t number = pool_.take();
  Channel& channel = pool_[number];
  channel = Channel{};
  channel.key = key;
  channel.hash = hash;
  prepare_(channel);
  table_[slot] = number;
  if (++used_ * 2 > table_.size()) grow();
  return number;
}

void Channels::wait_behind(Channel& channel, const Notice& notice) {
  const std::uint32_t number = waiting_.take();
  waiting_[number] = {.notice = notice, .next = kNone};
  (channel.first_behind == kNone ? channel.first_behind : waiting_[channel.last_behind].next) = number;
  channel.last_behind = number;
}

void Channels::move_up(Channel& channel) {
  const std::uint32_t number = channel.first_behind;
  channel.has_waiting = true;
  channel.waiting = waiting_[number].notice;
  channel.first_behind = waiting_[number].next;
  waiting_.give_back(number);
}

void Channels::forget(std::uint32_t number) {
  const std::size_t mask = table_.size() - 1;
  std::size_t hole = pool_[number].hash & mask;
  while (table_[hole] != number) hole = (hole + 1) & mask;
  for (std::size_t next = (hole + 1) & mask; table_[next] != kNone; next = (next + 1) & mask) {
    const std::size_t home = pool_[table_[next]].hash & mask;
    if (((next - home) & mask) >= ((next - hole) & mask)) {
      table_[hole] = table_[next];
      hole = next;
    }
  }
  table_[hole] = kNone;
  --used_;
  pool_.give_back(number);
}

void Channels::grow() {
  std::vector<std::uint32_t> old(table_.size() * 2, kNone);
  old.swap(table_);
  for (const std::uint32_t number : old) {
    if (number == kNone) continue;
    std::size_t slot = pool_[number].hash & (table_.size() - 1);
    while (table_[slot] != kNone) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = number;
  }
}

std::vector<const Channel*> Channels::open_channels() const {
  std::vector<const Channel*> open;
  for (const std::uint32_t number : table_) {
    if (number != kNone) open.push_back(&pool_[number]);
  }
  return open;
}

}  // namespace orrery::astra
