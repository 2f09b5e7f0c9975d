// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The smallest service worth the name: messages matched by source and tag, barriers, sleep, handles.
#include <map>
#include <string>
#include <vector>

#include "orrery/engine/process_host.hpp"
#include "orrery/engine/testing/scenario.hpp"

namespace orrery::engine::testing {

class MessageService final : public Service, public Handler {
 public:
  MessageService(Engine& engine, const Scenario& scenario, const HostOptions& options);
  [[nodiscard]] ProcessHost& host() { return host_; }

 private:
  struct Message {
    ProcessId source;
    ProcessId target;
    std::int64_t tag;
    std::int64_t handle;  // Completes on delivery; -1: none.
  };
  struct Receive {
    std::int64_t source;
    std::int64_t tag;
    std::int64_t handle;  // -1: the process itself waits.
  };
  struct Mailbox {
    std::vector<std::int64_t> arrived;  // Messages, as indices.
    std::vector<Receive> posted;
    std::vector<std::int64_t> waits_any;  // The handles; empty when it does not.
  };
  struct Handle {
    std::int64_t completed = -1;  // Order of completion; -1: not yet.
  };

  void handle(ProcessId process, const Call& call) override;
  void describe(ProcessId process, Blocked& blocked) const override;
  void on_event(std::uint64_t payload) override;

  std::int64_t send(ProcessId source, const Call& call, bool with_handle);
  void receive(ProcessId process, const Receive& receive);
  /// Gives arrived messages to posted receives, oldest first.
  void match(ProcessId process);
  void complete(ProcessId owner, std::int64_t handle);
  void try_wait_any(ProcessId process);
  void enter(ProcessId process, std::size_t group);
  std::int64_t new_handle();

  Engine& engine_;
  const Scenario& scenario_;
  OriginId origin_;
  std::vector<Message> messages_;
  std::vector<Mailbox> mailboxes_;
  std::vector<Handle> handles_;
  std::int64_t completed_ = 0;
  std::map<std::size_t, std::vector<ProcessId>> inside_;  // By group.
  std::vector<Call> calls_;                               // The last one of each process, for reports.
  ProcessHost host_;
};

}  // namespace orrery::engine::testing
