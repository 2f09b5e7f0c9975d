// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Processes carried by threads of this program.
#include <functional>
#include <thread>
#include <vector>

#include "orrery/base/pinned.hpp"
#include "orrery/engine/external_port.hpp"
#include "orrery/engine/process_host.hpp"

namespace orrery::engine {

/// What a process does between its start and its end, which its carrier does for it. PortClosed may pass through.
using ExternalBody = std::function<void(ExternalPort&)>;

class ExternalThreads : Pinned {
 public:
  explicit ExternalThreads(ProcessHost& host) : host_{host} {}
  /// Closes the host, so that everybody who waits leaves, and joins.
  ~ExternalThreads();

  /// An exception out of `body` ends the run, with its text.
  void start(ProcessId process, ExternalBody body);

 private:
  ProcessHost& host_;
  std::vector<std::thread> threads_;
};

}  // namespace orrery::engine
