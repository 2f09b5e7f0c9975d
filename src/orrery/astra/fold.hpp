// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One rank for all: when every rank does the same, and algorithms and network look the same from every rank, one
/// rank is simulated that sends to itself what it would send to others.
///
/// That is exact as long as no order within an instant depends on who a rank is. An event concerns one place (a rank
/// with its links, or a switch's port) and is inserted by what happens at one place. Two events of one place and
/// instant keep their order on every rank if they were inserted at different times, or by the same place; or their
/// order does not matter if both complete receives of one chunk. Anything else ends the folded run, and all ranks
/// are simulated.
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/astra/instants.hpp"
#include "orrery/astra/settings.hpp"
#include "orrery/astra/trace.hpp"

namespace orrery::astra {

struct Inputs;

/// How distances between ranks add up.
struct Folding {
  std::vector<std::uint32_t> sizes;  ///< Of the dimensions.
  std::vector<bool>
      is_exclusive_or;  ///< Partners differ in bits (halving-doubling); else places count round.
  /// What separates a source at `source` from rank 0, seen from the source.
  [[nodiscard]] std::uint32_t opposite(std::uint32_t source) const;
};

/// The folding of a run, or the reason why there is none.
struct FoldingChoice {
  bool is_possible = false;
  Folding folding{};
  std::string reason{};
};
[[nodiscard]] FoldingChoice choose_folding(const Inputs& inputs, const Traces& traces);

/// Thrown out of a folded run.
struct TieFound {
  std::uint64_t cycles = 0;
};

/// Watches the order of events at the two kinds of place.
class TieWatch {
 public:
  static constexpr std::uint32_t kNoChunk = 0xFFFFFFFF;
  /// TieFound when the event's place in the order could depend on the rank. `chunk`: whose receive it completes.
  void see(std::uint64_t now, bool at_switch, const Provenance& provenance, std::uint32_t chunk);

 private:
  struct Last {
    std::uint64_t time = ~std::uint64_t{0};
    std::uint64_t inserted = 0;
    std::uint32_t actor = 0;
    std::uint32_t chunk = kNoChunk;
    bool same_actor = true;
    bool same_chunk = true;
  };
  Last last_[2];
};

}  // namespace orrery::astra
