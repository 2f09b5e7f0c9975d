// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Coroutines of the engine's thread: modelled ranks, drivers of schedules.
///
/// A Task starts when it is awaited or start()ed, and owns its frame: destroying the outermost Task destroys
/// every frame below it, however the run ends. An exception travels up through the awaiting tasks; out of the
/// outermost one it leaves through whoever resumed the coroutine, which is Engine::run().
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace orrery::engine {

namespace detail {

struct PromiseBase {
  struct Final {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      const std::coroutine_handle<> next = self.promise().parent;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }
  void rethrow() {
    if (failure) [[unlikely]] {
      std::rethrow_exception(std::exchange(failure, nullptr));
    }
  }

  PromiseBase* root = this;        ///< Of the outermost task of this chain.
  std::coroutine_handle<> parent;  ///< Who continues when this one ends; none while it has not suspended yet.
  std::exception_ptr failure;
};

template <class T>
struct Promise : PromiseBase {
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() {
    rethrow();
    return *std::move(value);
  }
  std::optional<T> value;
};

template <>
struct Promise<void> : PromiseBase {
  void return_void() const noexcept {}
  void take() { rethrow(); }
};

}  // namespace detail

/// A coroutine that waits for something, as the one who will wake it holds it.
class Suspended {
 public:
  Suspended() = default;
  template <class Promise>
  explicit Suspended(std::coroutine_handle<Promise> handle) : handle_{handle}, root_{handle.promise().root} {}

  /// Runs it until it waits again or ends; throws what the outermost task threw. `this` may be gone after.
  void resume() const {
    detail::PromiseBase* const root = root_;
    handle_.resume();
    root->rethrow();
  }

 private:
  std::coroutine_handle<> handle_;
  detail::PromiseBase* root_ = nullptr;
};

template <class T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : detail::Promise<T> {
    Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
  };

  Task() = default;
  Task(Task&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() { destroy(); }

  /// An outermost task that has not begun, for whoever begins it.
  [[nodiscard]] Suspended suspended() const { return Suspended{handle_}; }
  /// Begins it now; it runs until it first waits.
  void start() { suspended().resume(); }
  [[nodiscard]] bool is_done() const { return handle_ && handle_.done(); }

  auto operator co_await() && noexcept { return Awaiter{handle_}; }

 private:
  /// Runs the child at once; if it ends without waiting, the parent goes on without ever having suspended, so
  /// a long loop of short tasks needs neither a deep stack nor the compiler's tail calls.
  struct Awaiter {
    std::coroutine_handle<promise_type> child;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> parent) {
      child.promise().root = parent.promise().root;
      child.resume();
      if (child.done()) return false;
      child.promise().parent = parent;
      return true;
    }
    T await_resume() { return child.promise().take(); }
  };

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_{handle} {}
  void destroy() {
    if (handle_) handle_.destroy();
  }

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace orrery::engine
