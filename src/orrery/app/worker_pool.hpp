// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Independent pieces of work on several threads, with one answer whatever their number.
#include <atomic>
#include <cstddef>
#include <functional>

namespace orrery::app {

struct PoolOptions {
  std::size_t workers = 1;
  /// Both are called by the calling thread only, about twenty times a second. May be empty.
  std::function<void(std::size_t done)> on_progress{};
  std::function<bool()> wants_stop{};
};

/// Work that stops early asks this; cheap.
using StopFlag = std::atomic<bool>;

/// Calls work(index, worker, stop) for every index below `count`, lower ones first; `worker` is below
/// `workers`. When some fail, the exception of the lowest index is thrown, as if there were one worker.
/// engine::Interrupted when wants_stop() said so; work under way is waited for.
void run_pool(std::size_t count, const PoolOptions& options,
              const std::function<void(std::size_t index, std::size_t worker, const StopFlag& stop)>& work);

}  // namespace orrery::app
