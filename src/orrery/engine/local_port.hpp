// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A coroutine's end of the contract: the same clock and calls as ExternalPort, inside the engine's thread.
#include "orrery/engine/service.hpp"
#include "orrery/engine/task.hpp"

namespace orrery::engine {

class ProcessHost;

class LocalPort : Pinned {
 public:
  LocalPort(ProcessHost& host, ProcessId process) : host_{host}, process_{process} {}

  [[nodiscard]] Time clock() const { return clock_; }
  /// `duration` >= 0. Own work: nobody is asked, no event happens.
  void advance(Duration duration) {
    ORRERY_CHECK(duration >= Duration::zero(), "a process cannot go back in time");
    clock_ = saturating_add(clock_, duration);
  }
  /// const std::int64_t answer = co_await port.call({...}); clock() is then the time of the answer.
  [[nodiscard]] auto call(const Call& call) { return Awaiter{*this, call}; }

 private:
  friend class ProcessHost;
  struct Awaiter {
    LocalPort& port;
    Call call;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) {
      port.waiting_ = Suspended{handle};
      port.ask(call);
    }
    std::int64_t await_resume() const noexcept { return port.answer_; }
  };
  void ask(const Call& call);

  ProcessHost& host_;
  ProcessId process_;
  Time clock_{};
  std::int64_t answer_ = 0;
  Suspended waiting_;
};

}  // namespace orrery::engine
