// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a made workload adds up to, counted on its operations.
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/workload/generate/layout.hpp"

namespace orrery::workload::generate {

/// Communication of one kind.
struct CommunicationTotal {
  std::string operation;     ///< "all_reduce", ..., "send", "receive".
  std::string group;         ///< "tp", "dp", ...; of messages "pp" (between stages) or "cp" (in a ring).
  std::int64_t members = 0;  ///< Of each such group; 2 for messages.
  std::uint64_t calls = 0;
  std::int64_t bytes = 0;  ///< As Chakra counts them; the largest number when they are more.
};

/// Of ranks that all do the same.
struct RankTotal {
  std::int64_t stage = 0;
  std::int64_t first_tp = 0;  ///< Tensor-parallel ranks from here ...
  std::int64_t last_tp = 0;   ///< ... to here.
  std::uint64_t operations = 0;
  std::uint64_t flops = 0;
  std::int64_t tensor_bytes = 0;
  std::int64_t parameters = 0;
  std::vector<CommunicationTotal> communication;  ///< Of one rank.
};

struct Summary {
  std::vector<RankTotal> kinds;   ///< By stage, then tensor-parallel rank.
  double flops = 0;               ///< Of all ranks.
  std::uint64_t exact_flops = 0;  ///< Likewise; 0 when it does not fit.
  std::uint64_t operations = 0;
  std::vector<CommunicationTotal> communication;  ///< Summed over all ranks.
  double bubble = 0;
  std::uint64_t digest = 0;  ///< Of everything that was counted.
};

[[nodiscard]] Summary summarize(const Recipe& recipe);
/// The kind of a rank.
[[nodiscard]] const RankTotal& kind_of(const Recipe& recipe, const Summary& summary, Rank rank);

}  // namespace orrery::workload::generate
