// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Operations of a live run after its warm-up, summed up.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "orrery/app/live_run.hpp"
#include "orrery/live/service.hpp"

namespace orrery::app {

/// Sums by the name of the operation.
class OperationTotals {
 public:
  /// What was posted before `from` does not count: it belongs to the warm-up.
  void restart(Time from) {
    by_name_.clear();
    from_ = from;
  }
  void add(const live::OperationRecord& record) {
    if (record.posted < from_) return;
    OperationTotal& total = by_name_[record.name];
    total.name = record.name;
    ++total.calls;
    total.bytes += record.bytes;
    total.time += record.done - record.began;
    total.waiting += record.began - record.posted;
  }
  [[nodiscard]] std::vector<OperationTotal> sorted() const {
    std::vector<OperationTotal> totals;
    for (const auto& [name, total] : by_name_) totals.push_back(total);
    std::ranges::stable_sort(totals, std::greater{}, &OperationTotal::time);
    return totals;
  }

 private:
  Time from_{};
  std::map<std::string, OperationTotal> by_name_;
};

}  // namespace orrery::app
