// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The two kinds of failure a user can cause. Bugs are in check.hpp.
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

/// Where in an input something stands. Line and column count from 1; 0 means "not known".
struct Position {
  int line = 0;
  int column = 0;
};

/// What is wrong with an input, in parts, so that every reader reports alike.
struct InputProblem {
  std::string source;    ///< File name, or "--cluster" and the like for command-line values.
  Position position;     ///< Within the file.
  std::string field;     ///< Path of the field, e.g. "links[2].bandwidth".
  std::string value;     ///< The offending value as written.
  std::string expected;  ///< What would have been right.
  std::string nearest;   ///< Nearest valid name, if a name was misspelt.
};

/// A mistake in what the user gave: exit code 2. Thrown only while loading and building.
class InputError : public std::runtime_error {
 public:
  explicit InputError(InputProblem problem);
  /// For mistakes with no place in a file.
  explicit InputError(const std::string& message) : std::runtime_error{message} {}
  [[nodiscard]] const InputProblem& problem() const& { return problem_; }
  const InputProblem& problem() const&& = delete;

 private:
  InputProblem problem_;
};

/// The simulated program failed (deadlock, livelock, mismatch): exit code 3.
class SimulationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// "nearest valid name" helper: the candidate closest to `name`, or "" if none is close.
[[nodiscard]] std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace orrery
