// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a replay writes: the folder of results, a timeline, a table. Each appears whole or not at all.
#include <memory>
#include <string>

#include "orrery/app/replay.hpp"
#include "orrery/timeline/recorder.hpp"
#include "orrery/workload/executor.hpp"

namespace orrery::app {

class ReplayRecords final : public Pinned, workload::OpRecorder {
 public:
  explicit ReplayRecords(const ReplayOptions& options);
  /// Null when no timeline is wanted.
  [[nodiscard]] engine::Observer* observer() { return recorder_.get(); }
  /// Null when nobody wants to know of single operations.
  [[nodiscard]] workload::OpRecorder* recorder();
  /// Names the files in result.files.
  void write(ReplayResult& result) const;

 private:
  void on_op(const workload::OpRecord& record) override;
  void draw_memory(const ReplayResult& result) const;
  void write_folder(const ReplayResult& result) const;

  const ReplayOptions& options_;
  std::unique_ptr<timeline::Recorder> recorder_;
  std::string operations_;  // Rows of operations.csv.
};

}  // namespace orrery::app
