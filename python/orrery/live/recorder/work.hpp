// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The handle of an operation that another backend carries out: passes everything on, and notes when the operation was
/// over and how long the rank's thread was blocked in wait().
#include "boost.hpp"
#include "log.hpp"
#include "torch.hpp"

namespace orrery::live::recorder {

using shim::Milliseconds;
using shim::Tensors;
using shim::WorkPointer;

/// How deep this thread is in waits that are noted: what waits inside of one is part of it.
inline thread_local int wait_depth = 0;

/// Waits for an operation, and notes when it was over and how long this thread was blocked, however the wait ends.
template <class Wait>
bool note_wait(std::size_t index, bool needs_boost, Wait wait) {
  const std::int64_t begin = now_ns();
  ++wait_depth;
  bool has_failed = true;
  const auto finish = [&] {
    --wait_depth;
    const std::int64_t end = now_ns();
    Log& log = Log::instance();
    log.done(index, end, has_failed);
    if (wait_depth == 0) log.blocked(begin, end, static_cast<std::int64_t>(index));
  };
  try {
    const Boost boost{needs_boost};
    const bool is_good = wait();
    has_failed = false;
    finish();
    return is_good;
  } catch (...) {
    finish();
    throw;
  }
}

class Work final : public c10d::Work {
 public:
  Work(int rank, WorkPointer inner, std::size_t index)
      : c10d::Work{rank, inner->retrieveOpType()}, inner_{std::move(inner)}, index_{index} {
    watch_future();
  }

  bool isCompleted() override {
    const bool is_over = inner_->isCompleted();
    if (is_over) Log::instance().done(index_, now_ns());
    return is_over;
  }
  bool isSuccess() const override { return inner_->isSuccess(); }
  std::exception_ptr exception() const override { return inner_->exception(); }
  int sourceRank() const override { return inner_->sourceRank(); }
  Tensors result() override { return inner_->result(); }
  void synchronize() override {
    blocked([&] {
      inner_->synchronize();
      return true;
    });
  }
  bool wait(Milliseconds timeout = kNoTimeout) override {
    return blocked([&] { return inner_->wait(timeout); });
  }
  void blockCurrentStream() override { inner_->blockCurrentStream(); }
  void abort() override { inner_->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return inner_->getFuture(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override { return inner_->getFutureResult(); }
  float getDuration() const override { return inner_->getDuration(); }
  std::uint64_t getSequencenumber() const override { return inner_->getSequencenumber(); }

 private:
  /// gloo marks the future before it wakes who waits, so its callback sees the end first.
  void watch_future() {
    if (c10d::isP2POp(inner_->retrieveOpType())) return;  // Those have none.
    try {
      const auto future = inner_->getFuture();
      if (future) {
        future->addCallback([index = index_](c10::ivalue::Future& ended) {
          Log::instance().done(index, now_ns(), ended.hasError());
        });
      }
    } catch (const std::exception&) {  // A backend without futures: wait() sees the end.
    }
  }

  template <class Wait>
  bool blocked(Wait wait) {
    return note_wait(index_, c10d::isP2POp(inner_->retrieveOpType()), std::move(wait));
  }

  const WorkPointer inner_;
  const std::size_t index_;
};

}  // namespace orrery::live::recorder
