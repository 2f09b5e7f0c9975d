// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/dataflow_notes.hpp"

#include <fmt/format.h>

#include <fstream>

namespace orrery::app {

std::unordered_map<std::uint64_t, DataflowNote> DataflowNotes::read(std::size_t rank) const {
  std::unordered_map<std::uint64_t, DataflowNote> notes;
  std::ifstream file{fmt::format("{}/dataflow.{}.tsv", folder(), rank)};
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
