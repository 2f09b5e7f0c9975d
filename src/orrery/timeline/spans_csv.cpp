// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/spans_csv.hpp"

#include "orrery/timeline/csv_table.hpp"

namespace orrery::timeline {

void write_spans_csv(const Recorder& recorder, const Manifest& manifest, const std::string& path) {
  CsvTable table{path, manifest, {"group", "track", "name", "begin_ps", "end_ps", "detail"}};
  if (recorder.dropped() > 0) table.comment("dropped_events", std::to_string(recorder.dropped()));
  for (const Span& span : recorder.spans()) {
    const Track& track = recorder.tracks()[span.track.index()];
    table.row({track.group, track.name, std::string{recorder.text(span.name)},
               std::to_string(count_ps(span.begin)), std::to_string(count_ps(span.end)),
               std::string{recorder.text(span.detail)}});
  }
  table.commit();
}

}  // namespace orrery::timeline
