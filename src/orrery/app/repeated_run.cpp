// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/repeated_run.hpp"

#include <algorithm>

namespace orrery::app {

using collectives::CollectiveRun;
using collectives::Rank;

RepeatedRun::RepeatedRun(Setup setup)
    : setup_{std::move(setup)},
      origin_{setup_.simulation.engine().add_origin("ranks")},
      next_of_rank_(setup_.schedule.ranks(), 0) {}

void RepeatedRun::begin(Rank rank, Duration after) {
  const Time at = Time{} + after;
  first_begin_ = std::min(first_begin_, at);
  setup_.simulation.engine().schedule(at, engine::Phase::kWake, origin_, *this, rank);
}

CollectiveRun& RepeatedRun::iteration(std::int64_t number) {
  const auto index = static_cast<std::size_t>(number - done_);
  ORRERY_CHECK(number >= done_ && index <= open_.size(), "iteration {} begun while {} are done", number,
               done_);
  if (index == open_.size()) {
    CollectiveRun::Setup setup{setup_.simulation.engine(),
                               setup_.simulation.network(),
                               setup_.simulation.router(),
                               setup_.schedule,
                               setup_.layout,
                               setup_.choice.nodes,
                               setup_.choice.costs,
                               setup_.name};
    setup.notice = setup_.choice.notice;
    Listener* const listener = this;
    open_.push_back({std::make_unique<CollectiveRun>(std::move(setup), listener), 0});
  }
  return *open_[index].run;
}

void RepeatedRun::on_event(std::uint64_t rank) {
  retire_ended();
  iteration(next_of_rank_[rank]).arrive(static_cast<Rank>(rank));
}

void RepeatedRun::on_rank_done(Rank rank) {
  engine::Engine& engine = setup_.simulation.engine();
  const std::int64_t number = next_of_rank_[rank]++;
  last_end_ = std::max(last_end_, engine.now());
  // This is called from inside the run, so it ends the iteration later, with an event, never in place.
  Iteration& ended = open_[static_cast<std::size_t>(number - done_)];
  ++ended.ended;
  if (number + 1 < setup_.iterations) {
    engine.schedule(engine.now(), engine::Phase::kWake, origin_, *this, rank);
  } else if (ended.ended == setup_.schedule.ranks()) {
    messages_ = ended.run->messages();
    wire_bytes_ = ended.run->wire_bytes();
    done_ = setup_.iterations;
  }
}

void RepeatedRun::retire_ended() {
  // Switches may still be busy when every rank is done.
  const auto is_over = [this](const Iteration& one) {
    if (one.ended < setup_.schedule.ranks()) return false;
    for (Rank extra = setup_.schedule.ranks(); extra < setup_.schedule.participants(); ++extra) {
      if (!one.run->is_done(extra)) return false;
    }
    return true;
  };
  while (!open_.empty() && done_ + 1 < setup_.iterations && is_over(open_.front())) {
    open_.pop_front();
    ++done_;
  }
}

}  // namespace orrery::app
