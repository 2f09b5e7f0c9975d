// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What goes wrong in a run, and when: a YAML list.
///
///   - {at: 2s, crash: 3}                                      rank 3 is no more
///   - {at: 1s, slow: 2, by: 4, for: 500ms}                    rank 2 computes four times slower for a while
///   - {at: 1s, link: "jetson[0] - switch", state: down}       also bandwidth, latency; "A -> B" is one direction
#include <string>
#include <vector>

#include "orrery/engine/engine.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::live {

struct RankFault {
  Time at{};
  std::uint32_t rank = 0;
  bool is_crash = false;
  double factor = 1.0;  ///< Of computing time from now on, for a slow one.
};

struct Faults {
  std::vector<RankFault> ranks;  ///< In the order of time.
  std::vector<topology::LinkEvent> links;
};

/// InputError with the place in the file.
[[nodiscard]] Faults read_faults(const std::string& path, const topology::Cluster& cluster);

/// Puts the rank faults on the clock.
class FaultClock final : public Pinned, engine::Handler {
 public:
  class Target {
   public:
    virtual void crash(std::uint32_t rank) = 0;
    virtual void slow(std::uint32_t rank, double factor) = 0;

   protected:
    ~Target() = default;
  };
  /// All outlive it. Faults of ranks that the run does not have are left out.
  FaultClock(engine::Engine& engine, const std::vector<RankFault>& faults, std::uint32_t world,
             Target& target);

 private:
  void on_event(std::uint64_t payload) override;
  const std::vector<RankFault>& faults_;
  Target& target_;
};

}  // namespace orrery::live
