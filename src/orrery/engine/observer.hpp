// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What models tell whoever listens. The engine holds a pointer that is null when nobody does, so observing
/// costs one branch when off, and never changes a result.
#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/id.hpp"
#include "orrery/base/units.hpp"

namespace orrery::engine {

using TrackId = Id<struct TrackTag>;

class Observer {
 public:
  virtual ~Observer() = default;
  /// A row of the timeline, e.g. ("ranks", "rank 3") or ("links", "host[0]->switch[0]"). The same names give
  /// the same track.
  virtual TrackId track(std::string_view group, std::string_view name) = 0;
  /// Something lasted from `begin` to `end`. `detail` is shown when it is clicked.
  virtual void span(TrackId track, std::string_view name, Time begin, Time end, std::string_view detail) = 0;
  /// An arrow from one track to another.
  virtual void flow(TrackId from, Time sent, TrackId to, Time received) = 0;
  /// A value that holds from `at` on.
  virtual void counter(TrackId track, std::string_view name, Time at, double value) = 0;
};

}  // namespace orrery::engine
