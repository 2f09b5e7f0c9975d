// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/worker_pool.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "orrery/engine/engine.hpp"

namespace orrery::app {
namespace {

constexpr std::chrono::milliseconds kTick{50};

class Pool {
 public:
  Pool(std::size_t count, const std::function<void(std::size_t, std::size_t, const StopFlag&)>& work)
      : count_{count}, failures_(count), work_{work} {}

  void run(const PoolOptions& options) {
    const std::size_t workers = std::clamp<std::size_t>(options.workers, 1, std::max<std::size_t>(count_, 1));
    {
      std::vector<std::jthread> threads;
      threads.reserve(workers);
      running_ = workers;
      for (std::size_t i = 0; i < workers; ++i) {
        threads.emplace_back([this, i] { serve(i); });
      }
      watch(options);
    }
    if (trouble_) std::rethrow_exception(trouble_);
    for (const std::exception_ptr& failure : failures_) {
      if (failure) std::rethrow_exception(failure);
    }
    if (stop_) throw engine::Interrupted{};
    if (options.on_progress) options.on_progress(count_);
  }

 private:
  void serve(std::size_t worker) {
    for (;;) {
      const std::size_t index = next_.fetch_add(1);
      // Behind a failure nothing is begun; before it everything is, so that the lowest failure is known.
      if (index >= count_ || stop_ || index > lowest_failure_) break;
      try {
        work_(index, worker, stop_);
        done_.fetch_add(1);
      } catch (...) {
        const std::lock_guard lock{mutex_};
        failures_[index] = std::current_exception();
        lowest_failure_ = std::min<std::size_t>(lowest_failure_, index);
      }
    }
    const std::lock_guard lock{mutex_};
    if (--running_ == 0) ended_.notify_one();
  }

  /// The calling thread's part: waits, reports, asks whether to stop.
  void watch(const PoolOptions& options) {
    std::unique_lock lock{mutex_};
    while (!ended_.wait_for(lock, kTick, [this] { return running_ == 0; })) {
      lock.unlock();
      try {
        if (options.on_progress && !stop_) options.on_progress(done_);
        if (options.wants_stop && !stop_ && options.wants_stop()) stop_ = true;
      } catch (...) {
        trouble_ = std::current_exception();
        stop_ = true;
      }
      lock.lock();
    }
  }

  const std::size_t count_;
  std::vector<std::exception_ptr> failures_;
  const std::function<void(std::size_t, std::size_t, const StopFlag&)>& work_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> done_{0};
  std::atomic<std::size_t> lowest_failure_{~std::size_t{0}};
  StopFlag stop_{false};
  std::exception_ptr trouble_;  // Of a callback.
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;
};

}  // namespace

void run_pool(std::size_t count, const PoolOptions& options,
              const std::function<void(std::size_t, std::size_t, const StopFlag&)>& work) {
  Pool{count, work}.run(options);
}

}  // namespace orrery::app
