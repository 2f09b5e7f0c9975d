// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The folder of results: result.json, events.csv, timeline.json.gz, ledger/. It appears whole or not at all.
#include <functional>
#include <memory>
#include <string>

#include "orrery/live/run.hpp"
#include "orrery/timeline/recorder.hpp"

namespace orrery::live {

/// InputError unless `folder` is "" or could be made: it must not exist, or be empty.
void check_output_folder(const std::string& folder);

class RunRecords : Pinned {
 public:
  RunRecords(const RunOptions& options, std::size_t world);
  /// Null when no timeline is wanted.
  [[nodiscard]] engine::Observer* observer() { return recorder_.get(); }
  void add(const OperationRecord& record);
  /// `ledger` gives the descriptor of a rank's ledger.
  void write(const RunResult& result, const std::function<int(std::size_t)>& ledger) const;

 private:
  std::string folder_;
  std::size_t world_;
  std::unique_ptr<timeline::Recorder> recorder_;
  std::string events_;
};

}  // namespace orrery::live
