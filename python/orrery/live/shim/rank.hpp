// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The C interface of the rank library as C++: errors become exceptions, pauses become scopes.
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

#include "orrery_rank.h"
#include "torch.hpp"

namespace orrery::live::shim {

/// While one of these lives, what this thread does is ours and not charged to the program.
class Pause {
 public:
  Pause() {
    if (depth_++ == 0) orrery_pause();
  }
  ~Pause() {
    if (--depth_ == 0) orrery_resume();
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  static bool is_on() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

/// Raised in Python when the run is over: a SystemExit, so that it passes `except Exception` and prints nothing.
inline PyObject* run_ended_type = nullptr;

[[noreturn]] inline void throw_run_ended() {
  const py::gil_scoped_acquire gil;
  py::object error = py::reinterpret_borrow<py::object>(run_ended_type)(orrery_rank_reason());
  error.attr("code") = 1;
  PyErr_SetObject(run_ended_type, error.ptr());
  throw py::error_already_set{};
}

/// Throws for what errno says; `what` is the operation that failed.
[[noreturn]] inline void throw_errno(const char* what) {
  const int code = errno;
  if (code == ECANCELED) throw_run_ended();
  TORCH_CHECK_WITH(DistBackendError, false, what, ": ", std::strerror(code));
}

/// Blocking calls let other threads of the program run Python.
template <class Function>
void without_gil(Function&& function) {
  if (PyGILState_Check() != 0) {
    const py::gil_scoped_release release;
    function();
  } else {
    function();
  }
}

inline std::int64_t to_picoseconds(Milliseconds time) {
  constexpr std::int64_t kScale = 1'000'000'000;
  const std::int64_t count = time.count();
  if (count <= 0) return 0;
  return count > std::numeric_limits<std::int64_t>::max() / kScale ? 0 : count * kScale;
}

}  // namespace orrery::live::shim
