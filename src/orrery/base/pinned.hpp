// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace orrery {

/// Base of components that others hold references to: neither copied nor moved.
class Pinned {
 public:
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 protected:
  Pinned() = default;
  ~Pinned() = default;
};

}  // namespace orrery
