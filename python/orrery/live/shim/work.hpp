// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An operation under way, as torch sees it, and the list of all of them.
///
/// Work is lazy: nothing happens in the background. Whenever this process blocks (wait, poll, a future's wait), the
/// coordinator tells it which operations have ended meanwhile; all of them land then, in the order in which they
/// were posted, whether or not the program still holds their Work. To land is to copy results out, release the
/// operation and complete the future.
///
/// torch waits for futures in std::condition_variable::wait(), which no subclass can reach: the rank library calls
/// progress() from there.
#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>

#include "dataflow.hpp"
#include "memory.hpp"
#include "own_bytes.hpp"
#include "rank.hpp"

namespace orrery::live::shim {

class Work final : public c10d::Work {
 public:
  /// Copies the results of an operation that has ended well to where the program wants them.
  using Take = std::function<void(const orrery_op&)>;

  /// For torch's profiler: from now until the operation lands. Without a title, nothing.
  struct Event {
    std::string title{};
    Tensors inputs{};
  };

  Work(int rank, c10d::OpType type, const Event& event, orrery_op* op, Tensors outputs, Take take)
      : c10d::Work{rank, type, event.title.empty() ? nullptr : event.title.c_str(), event.inputs},
        op_{op},
        handle_{op->handle},
        is_device_{op->on_device != 0},
        sequence_{op->sequence},
        type_{type},
        outputs_{std::move(outputs)},
        take_{std::move(take)} {}

  bool isCompleted() override;
  bool isSuccess() const override { return landed_ && !exception(); }
  bool wait(Milliseconds timeout = kNoTimeout) override;
  void synchronize() override { wait(); }
  Tensors result() override {
    TORCH_CHECK(isCompleted(),
                "Work needs to be completed before calling result(). Should call wait() before result().");
    return outputs_;
  }
  int sourceRank() const override {
    TORCH_CHECK(landed_, "sourceRank() may only be called on a receive that has completed");
    return source_;
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  std::uint64_t getSequencenumber() const override { return sequence_; }
  /// Virtual milliseconds from post to end.
  float getDuration() const override { return static_cast<float>(static_cast<double>(duration_ps_) * 1e-9); }

  const Tensors& outputs() const { return outputs_; }
  void set_own(const OwnBytes& own) { own_ = own; }
  /// What the backend of a real run takes for itself while the operation lasts.
  void set_scratch(std::int64_t bytes) { scratch_bytes_ = bytes; }
  /// The program builds on the results from now on.
  void tell_awaited() {
    orrery_awaited(handle_);
    const bool brings_data = type_ != c10d::OpType::SEND && type_ != c10d::OpType::BARRIER;
    if (!Dataflow::is_on() || was_awaited_.exchange(true) || exception() || !brings_data) return;
    Dataflow::instance().arrive(handle_, outputs_, own_.begin, own_.end);
  }

  /// While operations are being coalesced, waiting is left to the work of them all.
  void set_deferred(bool is_deferred) { is_deferred_ = is_deferred; }

 private:
  friend class Pending;

  /// Without user code: copies, releases, remembers what went wrong. The list then says that it has landed.
  void land() noexcept {
    std::exception_ptr error;
    try {
      TORCH_CHECK_WITH(DistBackendError, op_->failed == 0, op_->reason);
      if (take_) take_(*op_);
    } catch (...) {
      error = std::current_exception();
    }
    source_ = op_->source;
    duration_ps_ = op_->done_ps - op_->posted_ps;
    ended_ps_ = op_->ended_ps;
    orrery_op_release(op_);
    end(error);
  }
  void end(std::exception_ptr error) {
    op_ = nullptr;
    take_ = nullptr;
    finish(error);
  }
  /// Runs the program's callbacks.
  void complete_future() {
    if (const std::exception_ptr error = exception()) {
      future_->setErrorIfNeeded(error);
    } else {
      future_->markCompleted(c10::IValue(outputs_));
    }
  }

  orrery_op* op_;  ///< Until landed; only touched by the thread whose turn it is.
  std::uint64_t handle_;
  bool is_device_;  ///< Whoever waits for it is a queue of the device, not the host.
  std::int64_t ended_ps_ = 0;
  std::uint64_t sequence_;
  c10d::OpType type_;
  Tensors outputs_;
  OwnBytes own_;  ///< Of the outputs.
  Take take_;
  std::atomic<bool> landed_{false};
  std::atomic<bool> was_awaited_{false};
  std::atomic<bool> is_deferred_{false};
  int source_ = -1;
  std::int64_t scratch_bytes_ = 0;
  std::int64_t duration_ps_ = 0;
  c10::intrusive_ptr<c10::ivalue::Future> future_;  ///< Guarded by the list's mutex.
};

/// All operations that have been posted and not landed. One per process.
class Pending {
 public:
  static Pending& instance() {
    static auto* pending = new Pending;  // Never destroyed: programs post while Python shuts down.
    return *pending;
  }

  void add(c10::intrusive_ptr<Work> work) {
    const std::lock_guard lock{mutex_};
    works_.push_back(std::move(work));
  }

  /// Blocks in virtual time until `work` has landed. False when `timeout_ps` (0 = none) went by.
  bool wait(Work& work, std::int64_t timeout_ps) {
    bool in_time = true;
    without_gil([&] {
      if (!work.landed_) in_time = await(work, timeout_ps);
      if (work.landed_) build_on(work);
      complete_futures();
    });
    return in_time || work.landed_;
  }

  /// Blocks until all collectives of a group that were posted so far have landed, well or not.
  void wait_for_group(std::uint64_t group) {
    std::vector<c10::intrusive_ptr<Work>> earlier;
    without_gil([&] {
      const std::lock_guard turn{turn_};
      const std::lock_guard lock{mutex_};
      for (const auto& work : works_) {
        const bool is_message = work->op_->kind == ORRERY_SEND || work->op_->kind == ORRERY_RECEIVE;
        if (work->op_->group == group && !is_message) earlier.push_back(work);
      }
    });
    for (const auto& work : earlier) wait(*work, 0);
  }

  /// Lets time pass, but does not wait.
  void poll(Work& work) {
    without_gil([&] {
      {
        const std::lock_guard turn{turn_};
        const Pause pause;
        check_joined();
        const bool is_open = !work.landed_ && orrery_has_ended(work.op_) == 0;
        if (is_open && orrery_test(work.op_) < 0) throw_errno("poll");
        land();
      }
      complete_futures();
    });
  }

  c10::intrusive_ptr<c10::ivalue::Future> future_of(Work& work) {
    bool has_landed = false;
    {
      const std::lock_guard lock{mutex_};
      if (work.future_) return work.future_;
      work.future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
      has_landed = work.landed_;
    }
    if (has_landed) work.complete_future();
    return work.future_;
  }

  /// The hook of the rank library, see orrery_progress_hook. Waits for any of the operations whose future was given
  /// out, since futures made by then() hide which one is meant. Callbacks may come here again.
  static int progress() noexcept {
    if (Pause::is_on() || orrery_rank_is_joined() == 0) return 0;
    int has_progressed = 0;
    try {
      without_gil([&] { has_progressed = instance().progress_any() ? 1 : 0; });
    } catch (const std::exception& error) {
      TORCH_WARN("orrery: a callback of a future failed: ", error.what());
      has_progressed = 1;
    }
    return has_progressed;
  }

  /// The other hook: whether progress() would wait for something, or complete it.
  static int has_any() noexcept {
    if (Pause::is_on() || orrery_rank_is_joined() == 0) return 0;
    Pending& pending = instance();
    const std::lock_guard lock{pending.mutex_};
    const auto has_future = [](const auto& work) { return static_cast<bool>(work->future_); };
    return !pending.to_complete_.empty() || std::ranges::any_of(pending.works_, has_future) ? 1 : 0;
  }

 private:
  /// False when `timeout_ps` went by; it may have landed all the same.
  bool await(Work& work, std::int64_t timeout_ps) {
    const std::lock_guard turn{turn_};
    const Pause pause;
    check_joined();
    bool in_time = true;
    while (!work.landed_ && in_time) {
      if (orrery_has_ended(work.op_) == 0 && orrery_wait_any(&work.op_, 1, timeout_ps) < 0) {
        if (errno != ETIMEDOUT) throw_errno("wait");
        in_time = false;
      }
      land();
    }
    return in_time;
  }

  bool progress_any() {
    if (complete_futures()) return true;
    {
      const std::lock_guard turn{turn_};
      const Pause pause;
      std::vector<orrery_op*> ops;
      {
        const std::lock_guard lock{mutex_};
        if (to_complete_.empty()) {
          for (const auto& work : works_) {
            if (work->future_) ops.push_back(work->op_);
          }
          if (ops.empty()) return false;
        }
      }
      if (!ops.empty()) {
        if (orrery_wait_any(ops.data(), ops.size(), 0) < 0) {
          fail_all();
        } else {
          land();
        }
      }
    }
    complete_futures();
    return true;
  }

  /// Lands everything this process has been told of. The caller has the turn.
  void land() {
    std::vector<c10::intrusive_ptr<Work>> ended;
    {
      const std::lock_guard lock{mutex_};
      for (auto at = works_.begin(); at != works_.end();) {
        if (orrery_has_ended((*at)->op_) != 0) {
          ended.push_back(std::move(*at));
          at = works_.erase(at);
        } else {
          ++at;
        }
      }
    }
    for (auto& work : ended) {
      work->land();
      orrery_touched(FreshPages::take(), work->scratch_bytes_);
      const std::lock_guard lock{mutex_};
      set_landed(std::move(work));
    }
  }

  /// The caller has the mutex, so a future is asked for before or after, not meanwhile.
  void set_landed(c10::intrusive_ptr<Work> work) {
    work->landed_ = true;
    if (work->future_) to_complete_.push_back(std::move(work));
  }

  /// What the program issues from now on comes after it.
  static void build_on(Work& work) {
    work.tell_awaited();
    if (work.is_device_) orrery_queue_await(ORRERY_QUEUE_PRESENT, work.ended_ps_);
  }

  static void check_joined() {
    TORCH_CHECK_WITH(DistBackendError, orrery_rank_is_joined() != 0,
                     "this process is no rank of the simulation");
  }

  /// A wait that cannot throw found the run over: whoever waits for a future gets the error from it.
  void fail_all() {
    std::exception_ptr error;
    try {
      throw_errno("wait");
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock{mutex_};
    for (auto& work : works_) {
      work->end(error);
      set_landed(std::move(work));
    }
    works_.clear();
  }

  /// Runs callbacks, so without any lock; what a callback posts and waits for comes here again.
  bool complete_futures() {
    bool has_completed = false;
    while (true) {
      c10::intrusive_ptr<Work> work;
      {
        const std::lock_guard lock{mutex_};
        if (to_complete_.empty()) return has_completed;
        work = std::move(to_complete_.front());
        to_complete_.pop_front();
      }
      build_on(*work);
      work->complete_future();
      has_completed = true;
    }
  }

  std::mutex turn_;   ///< Of the one thread that may block, test and land. Never held while user code runs.
  std::mutex mutex_;  ///< Guards what follows, for moments only.
  std::list<c10::intrusive_ptr<Work>> works_;
  std::deque<c10::intrusive_ptr<Work>> to_complete_;  ///< Landed; their futures are still open.
};

inline bool Work::isCompleted() {
  if (!landed_) Pending::instance().poll(*this);
  return landed_ && (!is_device_ || orrery_now() >= ended_ps_);
}

inline bool Work::wait(Milliseconds timeout) {
  if (is_deferred_) return true;
  TORCH_CHECK(Pending::instance().wait(*this, to_picoseconds(timeout)), "Operation timed out!");
  if (const std::exception_ptr error = exception()) std::rethrow_exception(error);
  return true;
}

inline c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture() {
  return Pending::instance().future_of(*this);
}

/// Several operations posted between startCoalescing() and endCoalescing().
class Batch final : public c10d::Work {
 public:
  Batch(int rank, std::vector<c10::intrusive_ptr<shim::Work>> works)
      : c10d::Work{rank, c10d::OpType::COALESCED}, works_{std::move(works)} {
    for (const auto& work : works_) work->set_deferred(false);
  }
  bool isCompleted() override {
    return std::all_of(works_.begin(), works_.end(), [](const auto& work) { return work->isCompleted(); });
  }
  bool isSuccess() const override {
    return std::all_of(works_.begin(), works_.end(), [](const auto& work) { return work->isSuccess(); });
  }
  bool wait(Milliseconds timeout = kNoTimeout) override {
    for (const auto& work : works_) work->wait(timeout);
    return true;
  }
  void synchronize() override { wait(); }
  Tensors result() override {
    Tensors all;
    for (const auto& work : works_) {
      for (at::Tensor& tensor : work->result()) all.push_back(std::move(tensor));
    }
    return all;
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    const auto type = c10::ListType::create(c10::TensorType::get());
    c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures{c10::FutureType::create(type)};
    for (const auto& work : works_) futures.push_back(work->getFuture());
    return c10::collectAll(futures)->then(
        [works = works_](c10::ivalue::Future& all) {
          all.value();  // Throws what went wrong.
          c10::List<at::Tensor> tensors;
          for (const auto& work : works) {
            for (const at::Tensor& tensor : work->result()) tensors.push_back(tensor);
          }
          return c10::IValue(tensors);
        },
        type);
  }

 private:
  std::vector<c10::intrusive_ptr<shim::Work>> works_;
};

}  // namespace orrery::live::shim
