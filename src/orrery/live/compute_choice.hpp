// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How computing becomes time, as the user says it: "measured", "measured:raw", "fixed:10us", "fixed:2us/op",
/// "model", "model:roofline", "fake", "ledger:FOLDER".
#include <string>

#include "orrery/base/units.hpp"
#include "orrery/live/rank/compute_meter.hpp"

namespace orrery::live {

struct ComputeChoice {
  MeterMode mode = MeterMode::kMeasured;
  bool is_raw = false;  ///< Of kMeasured: the host's noise included.
  Duration fixed{};
  std::string ledger;       ///< Folder of the ranks' ledgers.
  bool uses_tables = true;  ///< Of kModel: where a device has profiled operators.
  bool is_fake = false;     ///< Of kModel: tensors of devices have no data.
};

/// InputError names `source`.
[[nodiscard]] ComputeChoice parse_compute(const std::string& text, const std::string& source);

/// The ledger of one rank within the folder.
[[nodiscard]] std::string ledger_path(const std::string& folder, std::size_t rank);

}  // namespace orrery::live
