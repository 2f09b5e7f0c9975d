// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What is known of how long operators take on this machine: shared by the ranks of a run, and kept from run to run, so
/// that runs agree although the host is noisy (docs/live.md).
#include "orrery/base/pinned.hpp"

namespace orrery::live {

class DurationTable : Pinned {
 public:
  /// Opens the machine's file in the cache folder; where that cannot be done, the table lasts for this run.
  DurationTable();
  ~DurationTable();
  /// Of KeyTable::kBytes; ranks map it.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

}  // namespace orrery::live
