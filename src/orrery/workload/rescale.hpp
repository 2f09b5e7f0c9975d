// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A workload of N ranks on M ranks, where its pattern says what the other ranks would do: every rank does the same,
/// in collectives of all ranks, and sends to and receives from ranks at the same distances around the ring of ranks.
/// Rank r of the new one does what rank r mod N did, in its times.
#include <cstdint>
#include <string>

#include "orrery/workload/op.hpp"

namespace orrery::workload {

/// Reads every rank once. InputError, with the first rank and node that does not fit, when the pattern does not allow
/// it; `source` ("--ranks") is named.
[[nodiscard]] Workload rescale(Workload workload, std::int64_t ranks, const std::string& source);

}  // namespace orrery::workload
