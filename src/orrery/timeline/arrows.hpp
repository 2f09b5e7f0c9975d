// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where the two ends of a flow are tied to the rows. The Perfetto UI ties an end to the span that began last
/// on its row, draws the arrow from the end of the one span to the begin of the other, and drops an end that
/// finds no span. So an end is tied to a span only if the arrow is then drawn where it belongs, and otherwise
/// to a mark of its own, a span of no length.
#include <cstddef>

#include "orrery/timeline/layout.hpp"

namespace orrery::timeline {

struct ArrowEnd {
  std::size_t lane = 0;  ///< Index into Layout::lanes().
  bool needs_mark = true;
};

struct Arrow {
  ArrowEnd tail;
  ArrowEnd head;
};

[[nodiscard]] Arrow tie_arrow(const Recorder& recorder, const Layout& layout, const Flow& flow);

}  // namespace orrery::timeline
