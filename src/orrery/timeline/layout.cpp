// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/layout.hpp"

#include <algorithm>

namespace orrery::timeline {
namespace {

/// The spans of every track, by begin, longest first, then as recorded.
std::vector<std::vector<std::uint32_t>> sort_by_track(const Recorder& recorder) {
  std::vector<std::vector<std::uint32_t>> sorted(recorder.tracks().size());
  std::uint32_t next = 0;
  for (const Span& span : recorder.spans()) sorted[span.track.index()].push_back(next++);
  const auto earlier = [&spans = recorder.spans()](std::uint32_t a, std::uint32_t b) {
    const Span& left = spans[a];
    const Span& right = spans[b];
    if (left.begin != right.begin) return left.begin < right.begin;
    return left.end != right.end ? left.end > right.end : a < b;
  };
  for (std::vector<std::uint32_t>& indices : sorted) {
    // Most tracks are recorded in order.
    if (!std::ranges::is_sorted(indices, earlier)) std::ranges::sort(indices, earlier);
  }
  return sorted;
}

/// The ends of the spans that are open on a row, innermost last.
class Row {
 public:
  /// Opens `span` if it nests in what is open at its begin or follows it.
  bool try_open(const Span& span) {
    while (!open_.empty() && open_.back() <= span.begin) open_.pop_back();
    if (!open_.empty() && open_.back() < span.end) return false;
    open_.push_back(span.end);
    return true;
  }

 private:
  std::vector<Time> open_;
};

}  // namespace

Layout::Layout(const Recorder& recorder) {
  std::vector<std::vector<std::uint32_t>> sorted = sort_by_track(recorder);
  first_.reserve(sorted.size() + 1);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    first_.push_back(lanes_.size());
    place(recorder, TrackId{i}, sorted[i]);
    std::vector<std::uint32_t>{}.swap(sorted[i]);
  }
  first_.push_back(lanes_.size());
}

void Layout::place(const Recorder& recorder, TrackId track, std::span<const std::uint32_t> sorted) {
  const std::size_t first = lanes_.size();
  std::vector<Row> rows(1);
  lanes_.push_back({track, 0, {}});
  for (const std::uint32_t index : sorted) {
    const Span& span = recorder.spans()[index];
    std::size_t row = 0;
    while (row < rows.size() && !rows[row].try_open(span)) ++row;
    if (row == rows.size()) {
      lanes_.push_back({track, static_cast<std::uint32_t>(row), {}});
      rows.emplace_back().try_open(span);
    }
    lanes_[first + row].spans.push_back(index);
  }
}

}  // namespace orrery::timeline
