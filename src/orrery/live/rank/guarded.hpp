// SPDX-License-Identifier: Apache-2.0
#pragma once
/// No exception leaves the C interface: each becomes -1 with errno and a reason.
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

#include "orrery/engine/external_port.hpp"
#include "orrery/live/rank/interpose.hpp"

namespace orrery::live {

/// Exit status of a program that was sent away.
inline constexpr int kCancelledStatus = 113;

/// For orrery_rank_reason().
void keep_reason(const char* text);

inline int refuse(int problem, const char* reason) {
  keep_reason(reason);
  errno = problem;
  return -1;
}

template <class Body>
int guarded(Body&& body) noexcept {
  const InsideLibrary inside;
  try {
    return body();
  } catch (const engine::PortClosed&) {
    // The run is over, or nobody is left to run it. Whatever the program would do now means nothing: it would only
    // print errors of its own over the coordinator's word.
    ::_exit(kCancelledStatus);
  } catch (const std::system_error& error) {
    return refuse(error.code().value(), error.what());
  } catch (const std::bad_alloc&) {
    return refuse(ENOMEM, "no room left in the memory shared between ranks");
  } catch (const std::exception& error) {
    return refuse(EINVAL, error.what());
  }
}

}  // namespace orrery::live
