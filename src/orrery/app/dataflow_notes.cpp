// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/dataflow_notes.hpp"

#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "orrery/base/error.hpp"

namespace orrery::app {

DataflowNotes::DataflowNotes()
    : folder_{(std::filesystem::temp_directory_path() / "orrery-dataflow-XXXXXX").string()} {
  if (::mkdtemp(folder_.data()) == nullptr) {
    throw InputError{fmt::format("{}: cannot be made: {}", folder_, std::strerror(errno))};
  }
}

DataflowNotes::~DataflowNotes() {
  std::error_code problem;
  std::filesystem::remove_all(folder_, problem);
}

std::unordered_map<std::uint64_t, DataflowNote> DataflowNotes::read(std::size_t rank) const {
  std::unordered_map<std::uint64_t, DataflowNote> notes;
  std::ifstream file{fmt::format("{}/dataflow.{}.tsv", folder_, rank)};
  std::uint64_t handle = 0;
  std::int64_t independent = 0;
  std::int64_t again = 0;
  while (file >> handle >> independent >> again) {
    DataflowNote& note = notes[handle];
    note.independent = Duration{independent};
    note.again = Duration{again};
    file.get();  // The tab.
    std::getline(file, note.what);
  }
  return notes;
}

}  // namespace orrery::app
