// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The layer above the process host: it knows what the calls of processes mean.
#include "orrery/base/id.hpp"
#include "orrery/engine/call.hpp"
#include "orrery/engine/engine.hpp"

namespace orrery::engine {

using ProcessId = Id<struct ProcessTag>;  ///< Numbered in the order the host was given them.

class Service {
 public:
  /// `process` asks for `call`; now() is the clock it asked at. It stays blocked until ProcessHost::answer(),
  /// which may come from within, from a later event, or never.
  virtual void handle(ProcessId process, const Call& call) = 0;
  /// `process` is going to ask for `call` at its clock, which is not before now(): whatever the call says about
  /// the time until then is to be scheduled here, at that time or later, before the clock goes on.
  virtual void announce(ProcessId /*process*/, const Call& /*call*/) {}
  /// `process` has ended, at now().
  virtual void finished(ProcessId /*process*/) {}
  /// For the report of a deadlock: fills in what the blocked `process` waits for, and the names of whom.
  virtual void describe(ProcessId process, Blocked& blocked) const = 0;

 protected:
  ~Service() = default;
};

}  // namespace orrery::engine
