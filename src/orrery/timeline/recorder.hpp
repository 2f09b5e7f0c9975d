// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Keeps what models report, compactly and in the order they report it; writers turn it into files afterwards.
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "orrery/base/pinned.hpp"
#include "orrery/engine/observer.hpp"
#include "orrery/timeline/string_table.hpp"

namespace orrery::timeline {

using engine::TrackId;

struct Track {
  std::string group;
  std::string name;
};

struct Span {
  Time begin;
  Time end;
  TrackId track;
  TextId name;
  TextId detail;
};
static_assert(sizeof(Span) == 32, "millions of these are kept");

struct Flow {
  Time sent;
  Time received;
  TrackId from;
  TrackId to;
};

struct Counter {
  Time at;
  double value;
  TrackId track;
  TextId name;
};

struct RecorderOptions {
  /// Spans, flows and counter values kept in all; what comes later is dropped and counted.
  std::size_t max_events = std::numeric_limits<std::uint32_t>::max();
  /// Told once, when the first event is dropped.
  std::function<void(const std::string&)> warn;
};

class Recorder final : public engine::Observer, Pinned {
 public:
  explicit Recorder(RecorderOptions options = {});

  TrackId track(std::string_view group, std::string_view name) override;
  void span(TrackId track, std::string_view name, Time begin, Time end, std::string_view detail) override;
  void flow(TrackId from, Time sent, TrackId to, Time received) override;
  void counter(TrackId track, std::string_view name, Time at, double value) override;

  /// In order of creation; a TrackId is an index into it.
  [[nodiscard]] const std::vector<Track>& tracks() const { return tracks_; }
  [[nodiscard]] const std::deque<Span>& spans() const { return spans_; }
  [[nodiscard]] const std::deque<Flow>& flows() const { return flows_; }
  [[nodiscard]] const std::deque<Counter>& counters() const { return counters_; }
  [[nodiscard]] std::string_view text(TextId id) const { return texts_.text(id); }

  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  /// Start of the first dropped event; only when dropped() > 0.
  [[nodiscard]] Time first_dropped() const { return first_dropped_; }

 private:
  /// False, after counting it, when an event at `at` is one too many.
  [[nodiscard]] bool has_room(Time at);
  void check_track(TrackId track) const;

  RecorderOptions options_;
  std::vector<Track> tracks_;
  std::unordered_map<std::string, TrackId> track_ids_;
  StringTable texts_;
  // Deques: a growing vector would copy, and for a moment hold twice, what may be gigabytes.
  std::deque<Span> spans_;
  std::deque<Flow> flows_;
  std::deque<Counter> counters_;
  std::uint64_t dropped_ = 0;
  Time first_dropped_{};
};

}  // namespace orrery::timeline
