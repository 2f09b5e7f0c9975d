// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A collective run several times back to back: a rank begins the next one when it is done with the last.
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "orrery/app/simulation.hpp"
#include "orrery/collectives/run/collective_run.hpp"
#include "orrery/collectives/select/selector.hpp"

namespace orrery::app {

class RepeatedRun final : public Pinned, engine::Handler, collectives::CollectiveRun::Listener {
 public:
  struct Setup {
    Simulation& simulation;
    const collectives::Schedule& schedule;
    const collectives::Layout& layout;
    const collectives::Choice& choice;
    std::string name;             ///< For timelines and reports.
    std::int64_t iterations = 1;  ///< At most a million: all of them may fall into one instant.
  };
  explicit RepeatedRun(Setup setup);

  /// Rank `rank` begins `after` the start of the clock. Once per rank, before the engine runs.
  void begin(collectives::Rank rank, Duration after);

  [[nodiscard]] bool is_done() const { return done_ == setup_.iterations; }
  /// From the first rank's begin to the last rank's end.
  [[nodiscard]] Duration elapsed() const { return last_end_ - first_begin_; }
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] Bytes wire_bytes() const { return wire_bytes_; }

 private:
  /// One iteration that at least one rank has begun and not everyone has ended.
  struct Iteration {
    std::unique_ptr<collectives::CollectiveRun> run;
    std::uint32_t ended = 0;
  };
  void on_event(std::uint64_t rank) override;
  void on_rank_done(collectives::Rank rank) override;
  void retire_ended();
  [[nodiscard]] collectives::CollectiveRun& iteration(std::int64_t number);

  Setup setup_;
  engine::OriginId origin_;
  std::vector<std::int64_t> next_of_rank_;  // Iteration each rank is in or will begin next.
  std::deque<Iteration> open_;
  std::int64_t done_ = 0;  // Iterations that everyone has ended; the number of open_[0].
  Time first_begin_ = kTimeMax;
  Time last_end_{};
  std::uint64_t messages_ = 0;
  Bytes wire_bytes_;
};

}  // namespace orrery::app
