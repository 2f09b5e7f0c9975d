// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The clocks of a rank that computes on a device with queues (CUDA's streams): the host's, and for each queue the
/// time at which everything on it will have ended.
///
///   launch   the host pays h, then work of d goes on the present queue:  host += h; end = max(end, host) + d
///   ready    when work that is issued now on the present queue begins:   max(host, end)
///   await    a queue does nothing before t (a stream waits for an event): end = max(end, t)
///   reach    the host waits until t (synchronize, .item()):              host = max(host, t)
///
/// Where times are measured on this host, a stretch of the program is charged as a whole: h of Python and d of
/// operators of the device. On a side queue that is one launch. On a device's default queue both go on the queue, and h
/// moves the host as well:
///
///   charge   end = (end > host or d > 0) ? max(end, host) + h + d : end;  host += h
///
/// With this queue alone ready() is then what a rank without queues would have as its clock, to the picosecond: the
/// device is this host, which does one thing after the other. Times are picoseconds.
///
/// Queues are numbered by device and stream: the upper half of a number is the device, the lower half the stream, 0 for
/// the default one.
#include <cstdint>
#include <map>

namespace orrery::live {

class QueueClock {
 public:
  [[nodiscard]] std::int64_t host() const { return host_; }
  [[nodiscard]] std::int64_t ready() const;
  /// When all that is on a queue will have ended; a queue without work is as far as the host.
  [[nodiscard]] std::int64_t end_of(std::uint64_t queue) const;
  /// Of all queues.
  [[nodiscard]] std::int64_t end_of_all() const;
  [[nodiscard]] std::uint64_t present() const { return present_; }

  void select(std::uint64_t queue) { present_ = queue; }
  void launch(std::int64_t host, std::int64_t device);
  void charge(std::int64_t host, std::int64_t device);
  void await(std::uint64_t queue, std::int64_t until);
  void reach(std::int64_t until);

 private:
  std::int64_t host_ = 0;
  std::uint64_t present_ = 0;
  std::map<std::uint64_t, std::int64_t> ends_;
};

}  // namespace orrery::live
