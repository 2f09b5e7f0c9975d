// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/csv_table.hpp"

#include <fmt/format.h>

#include <string_view>

#include "orrery/base/check.hpp"

namespace orrery::timeline {
namespace {

void append_cell(std::string& line, std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    line.append(cell);
    return;
  }
  line.push_back('"');
  for (const char c : cell) {
    if (c == '"') line.push_back('"');
    line.push_back(c);
  }
  line.push_back('"');
}

std::string to_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    append_cell(line, cell);
    line.push_back(',');
  }
  line.back() = '\n';
  return line;
}

}  // namespace

CsvTable::CsvTable(const std::string& path, const Manifest& manifest, const std::vector<std::string>& columns)
    : sink_{open_sink(path)}, columns_{columns} {
  ORRERY_CHECK(!columns.empty(), "a table without columns");
  sink_->write(to_comment_lines(manifest));
}

void CsvTable::comment(std::string_view key, std::string_view value) {
  ORRERY_CHECK(!has_header_, "comment '{}' behind the first row", key);
  sink_->write(fmt::format("# {}: {}\n", key, value));
}

void CsvTable::row(const std::vector<std::string>& cells) {
  ORRERY_CHECK(cells.size() == columns_.size(), "{} cells in {} columns", cells.size(), columns_.size());
  write_header();
  sink_->write(to_line(cells));
}

void CsvTable::commit() {
  write_header();
  sink_->commit();
}

void CsvTable::write_header() {
  if (has_header_) return;
  has_header_ = true;
  sink_->write(to_line(columns_));
}

}  // namespace orrery::timeline
