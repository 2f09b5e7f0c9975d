// SPDX-License-Identifier: Apache-2.0
// Operations of devices with queues: they begin when the device comes to them, one after the other within a group.
#include "orrery/live/service.hpp"

namespace orrery::live {

bool LiveService::stands_in_line(std::uint32_t rank, std::int64_t offset) {
  const orrery_op& op = operation(offset, rank);
  const bool is_message = op.kind == ORRERY_SEND || op.kind == ORRERY_RECEIVE;
  if (op.on_device == 0 || is_message) return false;
  std::deque<std::int64_t>& line = lines_[{op.group, rank}];
  if (line.empty() || line.front() != offset) line.push_back(offset);
  return line.front() != offset;
}

void LiveService::next_in_line(std::uint32_t rank, const orrery_op& op) {
  const auto found = lines_.find({op.group, rank});
  if (found == lines_.end() || found->second.empty()) return;
  std::deque<std::int64_t>& line = found->second;
  if (line.front() != setup_.arena.offset_of(&op)) return;  // A message.
  line.pop_front();
  if (line.empty()) return;
  // Not at once: we are inside the one that ends.
  const std::uint64_t number = next_post_++;
  posts_.emplace(number, Post{rank, line.front()});
  schedule(setup_.engine.now(), Event::kPost, number, rank);
}

Time LiveService::posted_at(const Rank& rank, std::uint64_t handle) const {
  for (const Ending& ending : rank.endings) {
    const auto& op = setup_.arena.get<orrery_op>(ending.operation);
    if (op.handle == handle) return Time{Duration{op.posted_ps}};
  }
  return Time{};
}

}  // namespace orrery::live
