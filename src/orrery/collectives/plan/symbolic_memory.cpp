// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/symbolic_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace orrery::collectives::plan {

namespace {

bool reduces(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduce ||
         operation == Operation::kReduceScatter || operation == Operation::kBarrier;
}

}  // namespace

SymbolicMemory::SymbolicMemory(const PlanRequest& request, std::uint32_t participants, std::uint32_t chunks)
    : operation_{request.operation},
      ranks_{request.ranks},
      root_{request.root},
      chunks_{chunks},
      reduces_{reduces(request.operation)},
      words_{reduces_ ? (request.ranks + std::size_t{63}) / 64 : 1},
      full_(words_, 0),
      cells_(words_ * participants * chunks, 0) {
  for (Rank bit = 0; bit < (reduces_ ? ranks_ : 1); ++bit) full_[bit / 64] |= std::uint64_t{1} << (bit % 64);
  for (Rank rank = 0; rank < ranks_; ++rank) {
    const Rank bit = reduces_ ? rank : 0;
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
      if (starts_with(rank, chunk)) cell(rank, chunk)[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
  }
}

std::span<std::uint64_t> SymbolicMemory::cell(Rank who, std::uint32_t chunk) {
  return std::span{cells_}.subspan((std::size_t{who} * chunks_ + chunk) * words_, words_);
}

std::span<const std::uint64_t> SymbolicMemory::cell(Rank who, std::uint32_t chunk) const {
  return std::span{cells_}.subspan((std::size_t{who} * chunks_ + chunk) * words_, words_);
}

Rank SymbolicMemory::source(std::uint32_t chunk) const {
  const std::uint32_t sources = operation_ == Operation::kAllToAll || operation_ == Operation::kAllGather ||
                                        operation_ == Operation::kGather
                                    ? ranks_
                                    : 1;
  return sources == 1 ? root_ : chunk / (chunks_ / ranks_);
}

Rank SymbolicMemory::target(std::uint32_t chunk) const {
  if (operation_ != Operation::kAllToAll) return chunk / (chunks_ / ranks_);
  return chunk / (chunks_ / ranks_ / ranks_) % ranks_;
}

bool SymbolicMemory::starts_with(Rank rank, std::uint32_t chunk) const {
  return reduces_ || source(chunk) == rank;
}

bool SymbolicMemory::ends_with(Rank rank, std::uint32_t chunk) const {
  switch (operation_) {
    case Operation::kReduce:
    case Operation::kGather:
      return rank == root_;
    case Operation::kReduceScatter:
    case Operation::kScatter:
    case Operation::kAllToAll:
      return target(chunk) == rank;
    default:
      return true;
  }
}

bool SymbolicMemory::read(Rank who, std::span<const std::uint32_t> chunks,
                          std::vector<std::uint64_t>& data) const {
  data.reserve(chunks.size() * words_);
  bool has_all = true;
  for (const std::uint32_t chunk : chunks) {
    const auto contents = cell(who, chunk);
    has_all = has_all && std::ranges::any_of(contents, [](std::uint64_t word) { return word != 0; });
    data.insert(data.end(), contents.begin(), contents.end());
  }
  return has_all;
}

bool SymbolicMemory::write(Rank who, std::span<const std::uint32_t> chunks,
                           std::span<const std::uint64_t> data, bool adds) {
  const bool joins = operation_ == Operation::kBarrier;  // Hearing of a rank twice does no harm.
  const std::uint64_t* next = data.data();
  for (const std::uint32_t chunk : chunks) {
    for (std::uint64_t& word : cell(who, chunk)) {
      const std::uint64_t incoming = *next++;
      if (adds && !joins && (word & incoming) != 0) return false;
      word = adds || joins ? word | incoming : incoming;
    }
  }
  return true;
}

std::string SymbolicMemory::final_problem() const {
  for (Rank rank = 0; rank < ranks_; ++rank) {
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
      if (ends_with(rank, chunk) && !std::ranges::equal(cell(rank, chunk), full_)) {
        return fmt::format("rank {} ends up with the wrong chunk {}", rank, chunk);
      }
    }
  }
  return "";
}

}  // namespace orrery::collectives::plan
