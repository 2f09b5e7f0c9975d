// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tables as CSV (RFC 4180, "\n" line ends) with the manifest as comment lines on top. pandas reads one with
/// read_csv(path, comment="#") as long as no cell holds a '#'.
#include <memory>
#include <string>
#include <vector>

#include "orrery/base/byte_sink.hpp"
#include "orrery/base/pinned.hpp"
#include "orrery/timeline/manifest.hpp"

namespace orrery::timeline {

class CsvTable : Pinned {
 public:
  /// `path` as for open_sink(): ".csv.gz" compresses.
  CsvTable(const std::string& path, const Manifest& manifest, const std::vector<std::string>& columns);
  /// A further "# key: value" line; only before the first row.
  void comment(std::string_view key, std::string_view value);
  /// As many cells as columns.
  void row(const std::vector<std::string>& cells);
  void commit();

 private:
  void write_header();

  std::unique_ptr<ByteSink> sink_;
  std::vector<std::string> columns_;
  bool has_header_ = false;
};

}  // namespace orrery::timeline
