// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How an operation of a rank ended.
#include <cstdint>
#include <string>

#include "orrery/base/units.hpp"

namespace orrery::live {

struct Ending {
  std::int64_t operation = 0;  ///< Offset.
  Time began{};                ///< When everyone it needs was there.
  std::int64_t table = 0;
  std::int64_t match = 0;
  std::int32_t source = -1;
  std::string reason{};  ///< Why it failed; "" when it did not.
};

/// Told at the time an operation ends.
class EndListener {
 public:
  virtual void on_ended(std::uint32_t rank, Ending ending) = 0;

 protected:
  ~EndListener() = default;
};

}  // namespace orrery::live
