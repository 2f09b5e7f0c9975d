// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Memory that torch's gloo backend takes within an operation and gives back: all_gather lands in one flat buffer
/// before its parts are copied out, reduce_scatter adds up a copy of its input. Its two threads allocate it in
/// turns, with glibc's malloc: a block larger than any before is mapped and given back to the system, the next one
/// of that size comes from the thread's arena, which grows, and only from then on are its pages there. So the
/// first operations of a size pay for first touches, twice for each thread. Blocks that malloc always maps are new
/// every time, also when the operation is calibrated: they are in its cost.
///
/// Two ranks, loopback, 0.92 MB each, us: all_gather 2234 1714 1600 1545 1569 687 677 720 642 ..., reduce_scatter
/// 2280 1439 1483 1136 1354 976 960 950 896 ...; all_to_all, which takes none, 1192 575 598 530 506 510 495 ....
#include <array>
#include <cstddef>
#include <cstdint>

namespace orrery::live {

class ScratchMemory {
 public:
  /// How many bytes are touched for the first time by an operation that takes so many.
  std::int64_t touch(std::int64_t bytes) {
    if (bytes < kSmallest || bytes >= kLargest) return 0;
    Worker& worker = workers_[next_++ % workers_.size()];
    if (bytes > worker.most) worker = {.most = bytes, .left = 2};
    if (worker.left == 0) return 0;
    --worker.left;
    return bytes;
  }

 private:
  static constexpr std::int64_t kSmallest =
      128 * 1024;  ///< malloc's first threshold for a mapping of its own.
  static constexpr std::int64_t kLargest = 32 * 1024 * 1024;  ///< And its last.
  struct Worker {
    std::int64_t most = 0;
    int left = 0;  ///< Times that a block of this size is still new.
  };
  std::array<Worker, 2> workers_{};
  std::size_t next_ = 0;
};

}  // namespace orrery::live
