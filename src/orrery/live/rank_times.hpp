// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where a rank's time went, and what each of its operations did.
#include <cstdint>
#include <string>

#include "orrery/base/units.hpp"

namespace orrery::live {

struct RankTimes {
  Duration compute{};  ///< Own work.
  Duration
      communication{};  ///< Blocked in an operation whose parties were all there, or touching its results.
  Duration waiting{};   ///< Blocked in one that waited for others, or in the store.
  Duration sleeping{};
  std::int64_t bytes = 0;  ///< Contributed to operations.
  std::uint64_t operations = 0;
  Time finish = kTimeMax;    ///< kTimeMax: it never came to its end.
  Time begin{};              ///< When its warm-up was over; 0 without one.
  std::int64_t status = -1;  ///< The program's exit status.
  bool has_crashed = false;  ///< By a fault that the user asked for.
};

struct OperationRecord {
  std::uint32_t rank = 0;
  std::string name;
  std::string group;
  std::uint64_t sequence = 0;
  std::int32_t peer = -1;  ///< Global rank of the root, source or target; -1 = none.
  std::int64_t bytes = 0;
  Time posted{};
  Time began{};  ///< When all parties were there.
  Time done{};
  bool has_failed = false;
  std::string where;
};

}  // namespace orrery::live
