// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a rank did with its time, counted while it happens.
#include <cstdint>

#include "orrery/base/units.hpp"

namespace orrery::workload {

/// Times during which at least one operation of a kind was running.
struct RankTimes {
  Time finish{};             ///< Of its last operation.
  Duration compute{};        ///< On the device or the host.
  Duration communication{};  ///< Bytes were under way, or nothing computed and others were waited for.
  Duration exposed_communication{};  ///< Communication while nothing computed.
  Duration overlap{};                ///< Bytes were under way while something computed.
  Duration waiting{};                ///< Of the exposed part: others were not there yet.
  Duration memory{};                 ///< Loads and stores of remote memory.
  std::uint64_t operations = 0;
  std::int64_t bytes = 0;  ///< Of its collectives and messages, as the trace counts them.
};

enum class Activity : std::uint8_t { kCompute, kWaiting, kMoving, kMemory };

/// Adds up RankTimes from what begins and ends.
class RankClock {
 public:
  void begin(Activity activity, Time now) {
    advance(now);
    ++running_[static_cast<std::size_t>(activity)];
  }
  void end(Activity activity, Time now) {
    advance(now);
    --running_[static_cast<std::size_t>(activity)];
  }
  [[nodiscard]] const RankTimes& times() const { return times_; }
  [[nodiscard]] RankTimes& times() { return times_; }

 private:
  [[nodiscard]] bool has(Activity activity) const { return running_[static_cast<std::size_t>(activity)] > 0; }
  void advance(Time now) {
    const Duration passed = now - last_;
    last_ = now;
    if (passed == Duration{}) return;
    const bool computes = has(Activity::kCompute);
    const bool moves = has(Activity::kMoving);
    const bool waits = has(Activity::kWaiting);
    if (computes) times_.compute += passed;
    // A receive that nobody has sent yet while something computes is no communication.
    if (moves || (waits && !computes)) {
      times_.communication += passed;
      (computes ? times_.overlap : times_.exposed_communication) += passed;
      if (!moves) times_.waiting += passed;
    }
    if (has(Activity::kMemory)) times_.memory += passed;
  }

  RankTimes times_;
  Time last_{};
  std::uint32_t running_[4]{};
};

}  // namespace orrery::workload
