// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/arrows.hpp"

#include <algorithm>

#include "orrery/timeline/viewer_time.hpp"

namespace orrery::timeline {
namespace {

/// The span of the lane that the viewer finds at `at`, or null.
const Span* last_begun(const Recorder& recorder, const Lane& lane, Time at) {
  const auto begin_of = [&](std::uint32_t index) { return recorder.spans()[index].begin; };
  const auto next = std::ranges::upper_bound(lane.spans, at, {}, begin_of);
  if (next == lane.spans.begin()) return nullptr;
  // A span that begins in the same nanosecond would take the arrow.
  const bool is_hidden =
      next != lane.spans.end() && viewer_nanoseconds(begin_of(*next)) == viewer_nanoseconds(at);
  return is_hidden ? nullptr : &recorder.spans()[*(next - 1)];
}

/// The first lane of `track` whose span at `at` suits, else a mark on the track's own row.
template <class Suits>
ArrowEnd tie(const Recorder& recorder, const Layout& layout, TrackId track, Time at, Suits suits) {
  for (std::size_t lane = layout.first_lane(track); lane < layout.last_lane(track); ++lane) {
    const Span* span = last_begun(recorder, layout.lanes()[lane], at);
    if (span != nullptr && suits(*span)) return {lane, false};
  }
  return {layout.first_lane(track), true};
}

}  // namespace

Arrow tie_arrow(const Recorder& recorder, const Layout& layout, const Flow& flow) {
  // Rather the send that begins now than what has just ended and caused it.
  const auto is_send = [&](const Span& span) { return span.begin == flow.sent && span.end <= flow.received; };
  const auto is_cause = [&](const Span& span) { return span.end == flow.sent; };
  const auto is_effect = [&](const Span& span) { return span.begin == flow.received; };
  ArrowEnd tail = tie(recorder, layout, flow.from, flow.sent, is_send);
  if (tail.needs_mark) tail = tie(recorder, layout, flow.from, flow.sent, is_cause);
  return {tail, tie(recorder, layout, flow.to, flow.received, is_effect)};
}

}  // namespace orrery::timeline
