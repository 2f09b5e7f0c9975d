// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which row every span is drawn on. A viewer draws the spans of one row as a call stack, so two of them must
/// nest or be apart. Where a track breaks that rule (two messages share a link), it gets further rows: each
/// span goes to the first row where it fits, in order of begin, longest first, then as recorded.
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/timeline/recorder.hpp"

namespace orrery::timeline {

struct Lane {
  TrackId track;
  std::uint32_t number = 0;          ///< 0 for the track's own row, 1 for its first extra row.
  std::vector<std::uint32_t> spans;  ///< Indices into Recorder::spans(): parents before children.
};

class Layout {
 public:
  explicit Layout(const Recorder& recorder);
  /// By track, then number. Every track has at least one, perhaps empty.
  [[nodiscard]] const std::vector<Lane>& lanes() const { return lanes_; }
  /// Indices into lanes(): [first, last).
  [[nodiscard]] std::size_t first_lane(TrackId track) const { return first_[track.index()]; }
  [[nodiscard]] std::size_t last_lane(TrackId track) const { return first_[track.index() + 1]; }

 private:
  void place(const Recorder& recorder, TrackId track, std::span<const std::uint32_t> sorted);

  std::vector<Lane> lanes_;
  std::vector<std::size_t> first_;
};

}  // namespace orrery::timeline
