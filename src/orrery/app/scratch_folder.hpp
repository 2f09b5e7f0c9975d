// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A temporary folder that goes when its owner does. What owners left that were killed goes with the next one.
#include <string>

#include "orrery/base/pinned.hpp"

namespace orrery::app {

class ScratchFolder : Pinned {
 public:
  /// <temporary folder>/orrery-<purpose>-XXXXXX. InputError.
  explicit ScratchFolder(const std::string& purpose);
  ~ScratchFolder();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  ///< On the folder: the kernel lets go of it, however we end.
};

}  // namespace orrery::app
