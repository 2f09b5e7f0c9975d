// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/recorder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "orrery/base/check.hpp"

namespace orrery::timeline {

Recorder::Recorder(RecorderOptions options) : options_{std::move(options)} {
  // Writers number events with 32 bits.
  options_.max_events = std::min(options_.max_events, RecorderOptions{}.max_events);
}

TrackId Recorder::track(std::string_view group, std::string_view name) {
  std::string key{group};
  key.push_back('\0');
  key.append(name);
  const auto [entry, is_new] = track_ids_.try_emplace(std::move(key), TrackId{tracks_.size()});
  if (is_new) tracks_.push_back({std::string{group}, std::string{name}});
  return entry->second;
}

void Recorder::span(TrackId track, std::string_view name, Time begin, Time end, std::string_view detail) {
  check_track(track);
  ORRERY_CHECK(Time{} <= begin && begin <= end, "span '{}' lasts from {} ps to {} ps", name, count_ps(begin),
               count_ps(end));
  if (!has_room(begin)) return;
  spans_.push_back({begin, end, track, texts_.intern(name), texts_.intern(detail)});
}

void Recorder::flow(TrackId from, Time sent, TrackId to, Time received) {
  check_track(from);
  check_track(to);
  ORRERY_CHECK(Time{} <= sent && sent <= received, "a flow leaves at {} ps and arrives at {} ps",
               count_ps(sent), count_ps(received));
  if (!has_room(sent)) return;
  flows_.push_back({sent, received, from, to});
}

void Recorder::counter(TrackId track, std::string_view name, Time at, double value) {
  check_track(track);
  ORRERY_CHECK(Time{} <= at, "counter '{}' at {} ps", name, count_ps(at));
  ORRERY_CHECK(std::isfinite(value), "counter '{}' is not finite at {} ps", name, count_ps(at));
  if (!has_room(at)) return;
  counters_.push_back({at, value, track, texts_.intern(name)});
}

bool Recorder::has_room(Time at) {
  if (spans_.size() + flows_.size() + counters_.size() < options_.max_events) return true;
  if (dropped_++ == 0) {
    first_dropped_ = at;
    if (options_.warn) {
      options_.warn(
          fmt::format("the timeline is full: it keeps the first {} events, later ones are only counted",
                      options_.max_events));
    }
  }
  return false;
}

void Recorder::check_track(TrackId track) const {
  ORRERY_CHECK(track.index() < tracks_.size(), "track {} of {}", track.value(), tracks_.size());
}

}  // namespace orrery::timeline
