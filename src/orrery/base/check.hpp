// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Assertions that stay on in release builds. A failure is a defect of Orrery, never of the input.
#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace orrery {

/// A defect of Orrery itself; the command line turns it into exit code 70.
class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] void throw_bug(const char* condition, const char* file, int line, const std::string& message);
}  // namespace detail
}  // namespace orrery

/// ORRERY_CHECK(condition, "format", values...): throws orrery::Bug when the condition does not hold.
#define ORRERY_CHECK(condition, ...)                                                         \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      ::orrery::detail::throw_bug(#condition, __FILE__, __LINE__, fmt::format(__VA_ARGS__)); \
    }                                                                                        \
  } while (false)

/// Costly checks: compiled out of release builds.
#ifdef NDEBUG
#define ORRERY_DCHECK(condition, ...) \
  do {                                \
  } while (false)
#else
#define ORRERY_DCHECK(condition, ...) ORRERY_CHECK(condition, __VA_ARGS__)
#endif
