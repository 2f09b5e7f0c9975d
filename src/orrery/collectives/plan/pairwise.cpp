// SPDX-License-Identifier: Apache-2.0
// Pairwise exchange (Thakur, Rabenseifner and Gropp, 2005): the messages of `direct`, but one at a time per rank,
// in n-1 rounds that are each a permutation. Slower than direct on a full mesh, kinder to shared links and
// receive buffers. With a power of two the rounds are pairs (r, r^s). The bytes are those of direct.
#include "orrery/collectives/plan/exchange_algorithm.hpp"

namespace orrery::collectives::plan {

Algorithm pairwise() {
  return exchange_algorithm("pairwise", "Everyone to everyone, one partner after another.", {.swaps = true});
}

}  // namespace orrery::collectives::plan
