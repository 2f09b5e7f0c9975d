// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The folder of results: result.json, events.csv, timeline.json.gz, ledger/. It appears whole or not at all.
#include <memory>
#include <string>

#include "orrery/app/live_run.hpp"
#include "orrery/live/ledger_files.hpp"
#include "orrery/timeline/recorder.hpp"

namespace orrery::app {

/// The first line of events.csv, and one of an operation.
inline constexpr const char* kEventColumns =
    "rank,operation,group,sequence,peer,bytes,posted_ps,began_ps,done_ps,failed,where\n";
[[nodiscard]] std::string event_line(const live::OperationRecord& record);

/// InputError unless `folder` is "" or could be made: it must not exist, or be empty.
void check_output_folder(const std::string& folder);

/// Adds a note of ranks whose warm-up had no end.
void note_endless_warmup(LiveResult& result);

class LiveRecords : Pinned {
 public:
  LiveRecords(const LiveOptions& options, std::size_t world);
  /// Null when no timeline is wanted.
  [[nodiscard]] engine::Observer* observer() { return recorder_.get(); }
  void add(const live::OperationRecord& record);
  void write(const LiveResult& result, const live::LedgerFiles& ledgers) const;

 private:
  std::string folder_;
  std::size_t world_;
  std::unique_ptr<timeline::Recorder> recorder_;
  std::string events_;
};

}  // namespace orrery::app
