// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What ranks print, line by line with the rank in front.
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "orrery/base/pinned.hpp"

namespace orrery::live {

class TaggedOutput : Pinned {
 public:
  /// Pipes for both streams of each rank. Lines of standard output go to `output`, of standard error to `errors`.
  TaggedOutput(std::size_t ranks, int output, int errors);
  /// Passes on what is left.
  ~TaggedOutput();

  /// The ends that ranks write to: standard output and error of rank 0, of rank 1, ... For the launcher to inherit.
  [[nodiscard]] std::vector<int> descriptors() const;
  /// After the launcher has started: from now on the pipes end when the ranks do.
  void start();

 private:
  struct Stream {
    int read = -1;
    int write = -1;
    int target = -1;
    std::string tag;
    std::string line;
  };
  void loop();
  static void pass_on(Stream& stream, std::string_view text);
  static void flush(Stream& stream);

  std::vector<Stream> streams_;
  std::thread thread_;
};

}  // namespace orrery::live
