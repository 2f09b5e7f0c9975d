// SPDX-License-Identifier: Apache-2.0
#pragma once
/// co_await delay(engine, origin, 5us): a task sleeps. A delay of zero continues in a later round of the instant.
#include "orrery/engine/engine.hpp"
#include "orrery/engine/task.hpp"

namespace orrery::engine {

/// Lives in the frame of the waiting task, which must therefore outlive the run once it waits.
class Delay final : public Handler {
 public:
  Delay(Engine& engine, OriginId origin, Duration duration)
      : engine_{engine}, origin_{origin}, duration_{duration} {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> handle) {
    waiting_ = Suspended{handle};
    engine_.schedule(saturating_add(engine_.now(), duration_), Phase::kWake, origin_, *this, 0);
  }
  void await_resume() const noexcept {}
  void on_event(std::uint64_t /*payload*/) override { waiting_.resume(); }

 private:
  Engine& engine_;
  OriginId origin_;
  Duration duration_;
  Suspended waiting_;
};

[[nodiscard]] inline Delay delay(Engine& engine, OriginId origin, Duration duration) {
  return Delay{engine, origin, duration};
}

}  // namespace orrery::engine
