// SPDX-License-Identifier: Apache-2.0
// What the service tells whoever captures the run.
#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text.hpp"
#include "orrery/live/operation_text.hpp"
#include "orrery/live/service.hpp"

namespace orrery::live {

void LiveService::capture_answer(std::uint32_t rank, std::int64_t value) {
  const Rank& asker = ranks_[rank];
  Pause pause = Pause::kNone;
  std::uint64_t handle = 0;
  switch (asker.waits) {
    case Waits::kOperation:
      pause = Pause::kOperation;
      if (value >= 0) handle = asker.handles[static_cast<std::size_t>(value)];
      break;
    case Waits::kPoll:
      pause = Pause::kPoll;
      if (value > 0) handle = asker.handles.front();
      break;
    case Waits::kSleep:
      pause = Pause::kSleep;
      break;
    case Waits::kStore:
      pause = Pause::kStore;
      break;
    case Waits::kNothing:
    case Waits::kOver:
      break;
  }
  setup_.capture->on_answer(rank, pause, handle, setup_.engine.now());
}

void LiveService::capture_end(std::uint32_t rank, const Ending& ending) {
  const auto& op = setup_.arena.get<orrery_op>(ending.operation);
  CapturedEnd end{.handle = op.handle,
                  .has_failed = !ending.reason.empty(),
                  .is_late = ranks_[rank].waits == Waits::kOver};
  if (ending.match != 0) {
    end.source = groups_.at(op.group)->ranks[static_cast<std::size_t>(ending.source)];
    end.bytes = sizes_of(setup_.arena.get<orrery_op>(ending.match))[0];
  }
  setup_.capture->on_ended(rank, end);
}

}  // namespace orrery::live
