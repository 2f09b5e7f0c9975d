// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/msccl_wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace orrery::collectives::plan {

namespace {

using Connection = std::tuple<Rank, Rank, std::uint32_t>;  // Source, target, channel.

[[noreturn]] void fail(const MscclProgram& program, const MscclWiring::Block& at,
                       const std::string& problem) {
  const std::string name = fmt::format("gpu {} tb {}", at.gpu, at.block->id);
  throw InputError{{program.path, at.block->position, name, {}, problem, {}}};
}

bool does(const MscclBlock& block, bool MscclVerb::* what) {
  return std::ranges::any_of(block.steps, [&](const MscclStep& step) { return step.verb.*what; });
}

void connect(const MscclProgram& program, MscclWiring& wiring) {
  std::map<Connection, std::uint32_t> receivers;
  for (std::uint32_t i = 0; i < wiring.blocks.size(); ++i) {
    const MscclWiring::Block& at = wiring.blocks[i];
    if (!does(*at.block, &MscclVerb::receives)) continue;
    if (!receivers.try_emplace({at.block->receive, at.gpu, at.block->channel}, i).second) {
      fail(program, at,
           fmt::format("another tb receives from gpu {} on channel {} too", at.block->receive,
                       at.block->channel));
    }
  }
  std::map<Connection, std::uint32_t> senders;
  for (std::uint32_t i = 0; i < wiring.blocks.size(); ++i) {
    MscclWiring::Block& at = wiring.blocks[i];
    if (!does(*at.block, &MscclVerb::sends)) continue;
    const Connection connection{at.gpu, at.block->send, at.block->channel};
    const auto where = fmt::format("gpu {} on channel {}", at.block->send, at.block->channel);
    if (!senders.try_emplace(connection, i).second) {
      fail(program, at, fmt::format("another tb sends to {} too", where));
    }
    const auto found = receivers.find(connection);
    if (found == receivers.end()) {
      fail(program, at, fmt::format("sends to {}, where no tb receives from it", where));
    }
    at.receiver = found->second;
  }
}

std::uint32_t root_of(std::vector<std::uint32_t>& above, std::uint32_t block) {
  while (above[block] != block) block = above[block] = above[above[block]];
  return block;
}

/// The smallest lane number that is free at every GPU of a set of bound blocks.
void number_lanes(const MscclProgram& program, MscclWiring& wiring) {
  const auto count = static_cast<std::uint32_t>(wiring.blocks.size());
  std::vector<std::uint32_t> above(count);
  for (std::uint32_t i = 0; i < count; ++i) above[i] = i;
  const auto bind = [&](std::uint32_t one, std::uint32_t other) {
    const auto [low, high] = std::minmax({root_of(above, one), root_of(above, other)});
    above[high] = low;
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    const MscclWiring::Block& at = wiring.blocks[i];
    if (at.receiver != MscclWiring::kNone) bind(i, at.receiver);
    for (const MscclStep& step : at.block->steps) {
      if (step.waits) bind(i, at.first_of_gpu + step.after_block);
    }
  }
  std::vector<std::vector<std::uint32_t>> bound(count);  // By root.
  for (std::uint32_t i = 0; i < count; ++i) bound[root_of(above, i)].push_back(i);
  std::vector<std::vector<bool>> used(program.gpus.size());
  const auto is_used = [&](std::uint32_t block, std::uint32_t lane) {
    const std::vector<bool>& lanes = used[wiring.blocks[block].gpu];
    return lane < lanes.size() && lanes[lane];
  };
  for (const std::vector<std::uint32_t>& together : bound) {
    std::uint32_t lane = 0;
    while (std::ranges::any_of(together, [&](std::uint32_t block) { return is_used(block, lane); })) ++lane;
    for (const std::uint32_t block : together) {
      std::vector<bool>& lanes = used[wiring.blocks[block].gpu];
      if (lanes.size() <= lane) lanes.resize(lane + 1);
      lanes[lane] = true;
      wiring.blocks[block].lane = lane;
      wiring.lanes = std::max(wiring.lanes, lane + 1);
    }
  }
}

}  // namespace

MscclWiring wire_msccl(const MscclProgram& program) {
  MscclWiring wiring;
  for (Rank gpu = 0; gpu < program.gpus.size(); ++gpu) {
    const auto first = static_cast<std::uint32_t>(wiring.blocks.size());
    for (const MscclBlock& block : program.gpus[gpu].blocks) {
      wiring.blocks.push_back({gpu, &block, first, MscclWiring::kNone, 0});
    }
  }
  connect(program, wiring);
  number_lanes(program, wiring);
  return wiring;
}

}  // namespace orrery::collectives::plan
