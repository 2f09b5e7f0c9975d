// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The ranks' ledgers while a run is on: anonymous files, which ranks open through /proc.
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/pinned.hpp"

namespace orrery::live {

/// Whether the ledger holds times of the device (LedgerReader::is_device_time()); InputError when it cannot be read.
[[nodiscard]] bool has_device_time(const std::string& path);

class LedgerFiles : Pinned {
 public:
  ~LedgerFiles();
  /// The next rank charges what its ledger in `folder` holds; that of a run of one rank serves every rank. InputError
  /// when it cannot be read or is not the ledger of this rank.
  void provide(const std::string& folder, std::size_t rank, std::size_t world);
  /// The next rank records.
  void record();
  /// Descriptors, or -1.
  [[nodiscard]] int in(std::size_t rank) const { return rank < in_.size() ? in_[rank] : -1; }
  [[nodiscard]] int out(std::size_t rank) const { return rank < out_.size() ? out_[rank] : -1; }
  /// What the rank has recorded.
  [[nodiscard]] std::string recorded(std::size_t rank) const;

 private:
  std::optional<bool> is_everybodys_;  ///< The ledgers are those of one rank alone.
  std::vector<int> in_;
  std::vector<int> out_;
};

}  // namespace orrery::live
