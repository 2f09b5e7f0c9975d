// SPDX-License-Identifier: Apache-2.0
// Double binary tree: chunks take turns between two trees, each with a root that has one child and below it a perfect
// tree numbered in order. The whole chunk goes up every edge and down again.
#include "orrery/astra/machine.hpp"

namespace orrery::astra {

/// In order, ranks of a perfect tree of n-1 nodes stand at height = trailing zeros of (place + 1); the root stands
/// before (second tree) or behind (first tree) all of them.
void Machine::place_in_tree(Chunk& chunk) const {
  const std::uint32_t nodes = chunk.size - 1;
  const bool root_is_first = chunk.phase.is_second_tree;
  const std::uint32_t root = root_is_first ? 0 : nodes;
  const std::uint32_t shift = root_is_first ? 1 : 0;
  chunk.parent = kNone;
  chunk.children = {kNone, kNone};
  const std::uint32_t top = (nodes + 1) / 2;  // Counted from 1.
  if (chunk.index == root) {
    chunk.children[0] = member(chunk, top - 1 + shift);
    return;
  }
  const std::uint32_t at = chunk.index - shift + 1;
  const std::uint32_t half = (at & (~at + 1)) / 2;  // Distance to its children.
  if (half > 0) {
    chunk.children[0] = member(chunk, at - half - 1 + shift);
    chunk.children[1] = member(chunk, at + half - 1 + shift);
  }
  if (at == top) {
    chunk.parent = member(chunk, root);
    return;
  }
  const std::uint32_t own = half == 0 ? 1 : 2 * half;
  const bool is_left = (at & (2 * own)) == 0;
  chunk.parent = member(chunk, (is_left ? at + own : at - own) - 1 + shift);
}

void Machine::tree_start(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  place_in_tree(chunk);
  chunk.message = chunk.phase.size;
  chunk.reduction = reduction_time(chunk.message);
  chunk.has_reduced = false;
  const Notice received{.kind = Notice::Kind::kChunk, .subject = number};
  if (chunk.children[0] == kNone) {
    chunk.tree = TreeState::kSendsUp;
    cross_endpoint(number, {.to_nic = true}, chunk.message);
    return;
  }
  chunk.tree = chunk.children[1] == kNone ? TreeState::kWaitsForOne : TreeState::kWaitsForTwo;
  for (const std::uint32_t child : chunk.children) {
    if (child != kNone) receive(chunk.rank, child, chunk.tag, chunk.message, received);
  }
}

void Machine::tree_received(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  const bool is_leaf = chunk.children[0] == kNone;
  const bool is_root = chunk.parent == kNone;
  const bool sends_back = !is_leaf && chunk.tree != TreeState::kWaitsForTwo;
  if (chunk.tree == TreeState::kWaitsForTwo) {
    chunk.tree = TreeState::kWaitsForOne;
  } else if (chunk.tree == TreeState::kWaitsForOne) {
    chunk.tree = is_root ? TreeState::kSendsDown : TreeState::kSendsUp;
  } else {
    chunk.tree = is_leaf ? TreeState::kEnd : TreeState::kSendsDown;
  }
  cross_endpoint(number, {.to_nic = false, .reduces = !is_leaf, .sends_back = sends_back}, chunk.message);
}

void Machine::tree_ready(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  const bool is_inner = chunk.children[1] != kNone;
  if (is_inner && !chunk.has_reduced) {  // One child's part is there; the other's is not.
    chunk.has_reduced = true;
    return;
  }
  switch (chunk.tree) {
    case TreeState::kSendsUp:
      chunk.tree = TreeState::kWaitsForParent;
      send(chunk.rank, chunk.parent, chunk.tag, chunk.message, {});
      receive(chunk.rank, chunk.parent, chunk.tag, chunk.message,
              {.kind = Notice::Kind::kChunk, .subject = number});
      break;
    case TreeState::kSendsDown:
      for (const std::uint32_t child : chunk.children) {
        if (child != kNone) send(chunk.rank, child, chunk.tag, chunk.message, {});
      }
      next_phase(number);
      break;
    case TreeState::kEnd:
      next_phase(number);
      break;
    default:
      ORRERY_CHECK(false, "a tree's chunk is ready in a state in which it waits");
  }
}

}  // namespace orrery::astra
