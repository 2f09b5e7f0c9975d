// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Who holds whose data, chunk by chunk: one bit per contributing rank. Where nothing is reduced a chunk has one
/// contributor, and one bit says that it is there.
#include <span>
#include <string>
#include <vector>

#include "orrery/collectives/algorithm.hpp"

namespace orrery::collectives::plan {

class SymbolicMemory {
 public:
  /// As it is before the operation.
  SymbolicMemory(const PlanRequest& request, std::uint32_t participants, std::uint32_t chunks);

  /// Copies the contents of `chunks` of `who` to `data`. False if one of them is empty.
  [[nodiscard]] bool read(Rank who, std::span<const std::uint32_t> chunks,
                          std::vector<std::uint64_t>& data) const;
  /// Puts or adds `data`. False if a contribution would be added to itself.
  [[nodiscard]] bool write(Rank who, std::span<const std::uint32_t> chunks,
                           std::span<const std::uint64_t> data, bool adds);
  /// "" if every rank holds what the operation promises.
  [[nodiscard]] std::string final_problem() const;

 private:
  /// The rank that has, or ends up with, this chunk's block.
  [[nodiscard]] Rank source(std::uint32_t chunk) const;
  [[nodiscard]] Rank target(std::uint32_t chunk) const;
  [[nodiscard]] bool starts_with(Rank rank, std::uint32_t chunk) const;
  [[nodiscard]] bool ends_with(Rank rank, std::uint32_t chunk) const;
  [[nodiscard]] std::span<std::uint64_t> cell(Rank who, std::uint32_t chunk);
  [[nodiscard]] std::span<const std::uint64_t> cell(Rank who, std::uint32_t chunk) const;

  Operation operation_;
  Rank ranks_;
  Rank root_;
  std::uint32_t chunks_;
  bool reduces_;
  std::size_t words_;  // Per cell.
  std::vector<std::uint64_t> full_;
  std::vector<std::uint64_t> cells_;
};

}  // namespace orrery::collectives::plan
