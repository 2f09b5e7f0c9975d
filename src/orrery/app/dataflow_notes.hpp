// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the ranks of a run with --dataflow note: which computing after a wait does not need what came from others.
#include <cstdint>
#include <string>
#include <unordered_map>

#include "orrery/app/scratch_folder.hpp"
#include "orrery/base/units.hpp"

namespace orrery::app {

struct DataflowNote {
  Duration independent{};  ///< Of operators after the wait that could run before it; on this machine.
  Duration again{};        ///< What then has to be computed twice.
  std::string what;        ///< The lines of the program, "model.py:31, model.py:34".
};

/// A folder for as long as this lives. Ranks write dataflow.<rank>.tsv when they leave.
class DataflowNotes {
 public:
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }
  /// By the handle of the operation that was waited for.
  [[nodiscard]] std::unordered_map<std::uint64_t, DataflowNote> read(std::size_t rank) const;

 private:
  ScratchFolder folder_{"dataflow"};
};

}  // namespace orrery::app
