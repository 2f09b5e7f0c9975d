// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs logical processes against the engine, whatever carries them: coroutines in the engine's thread, threads,
/// or processes of the operating system. docs/process-contract.md explains the protocol.
///
/// A process runs freely until it calls. Its call carries the process's own clock and becomes an event at that
/// time; the Service handles it then, and answers at that time or later. The engine's clock waits for every
/// process that could still ask for something earlier, so nothing ever arrives late and nothing is undone.
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "orrery/engine/external_pool.hpp"
#include "orrery/engine/local_port.hpp"
#include "orrery/engine/service.hpp"

namespace orrery::engine {

struct HostOptions {
  std::uint32_t externals = 0;    ///< Most processes that run outside the engine's thread.
  std::uint32_t concurrency = 1;  ///< How many of them run at once. No result depends on it.
  bool may_drop = false;          ///< Whether drop() may be called; costs each of them a switch per call.
};

struct ProcessOptions {
  Time start{};
  /// The process promises that its next call, or its end, is at least this far from where it was resumed. While
  /// it runs, the engine goes on with everything earlier.
  Duration lookahead{};
};

class ProcessHost final : public Handler, public Gate, public Watch, Pinned {
 public:
  using Body = std::function<Task<>(LocalPort&)>;

  /// Both outlive the host; the host is the engine's only gate.
  ProcessHost(Engine& engine, Service& service, const HostOptions& options = {});
  ~ProcessHost();

  /// A coroutine. `body` is kept, so a lambda may capture.
  ProcessId add_local(std::string name, Body body, const ProcessOptions& options = {});
  /// A program that opens slot(process) of region().
  ProcessId add_external(std::string name, const ProcessOptions& options = {});

  /// Engine::run(), then close(), however it ends.
  void run();
  /// Resumes a process whose call was handled; its clock becomes now().
  void answer(ProcessId process, std::int64_t value = 0);
  /// Lets programs go that were answered. The engine does so when it waits; this is for whoever does not return to it.
  void let_go() {
    if (pool_ != nullptr) pool_->fill_places();
  }
  /// From any thread: the program behind `process` is no more. The run ends with a SimulationError that names it,
  /// unless it had finished.
  void mark_dead(ProcessId process, std::string reason);
  /// `process` is no more, from now on; nothing it asked for happens, and the run goes on without it. Who carries it
  /// must end it.
  void drop(ProcessId process);
  /// Destroys coroutines and sends the programs outside away. Nothing runs afterwards.
  void close();

  [[nodiscard]] std::size_t size() const { return processes_.size(); }
  [[nodiscard]] const std::string& name(ProcessId process) const { return processes_[process.index()].name; }
  /// When it finished; kTimeMax while it has not.
  [[nodiscard]] Time finished_at(ProcessId process) const { return processes_[process.index()].finished_at; }
  [[nodiscard]] std::uint32_t slot(ProcessId process) const { return processes_[process.index()].slot; }
  [[nodiscard]] ExternalRegion& region() { return pool_->region(); }

 private:
  friend class LocalPort;
  enum class State : std::uint8_t {
    kNew,      ///< Its start is scheduled.
    kRunning,  ///< The engine waits for its next call.
    kAsking,   ///< Its call is scheduled.
    kBlocked,  ///< Its call was handled; the service will answer.
    kEnding,   ///< Its end is scheduled.
    kFinished,
    kDropped,
  };
  struct Process {
    std::string name;
    OriginId origin;
    Duration lookahead{};
    State state = State::kNew;
    std::uint32_t slot = kNoSlot;
    Time resumed_at{};
    Time finished_at = kTimeMax;
    Call call;
    Body body;  // Before `task`: a coroutine may use what its lambda captured.
    std::unique_ptr<LocalPort> port;
    Task<> task;
  };
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  ProcessId add(Process process, Time start);
  void resume(Process& process, ProcessId id, std::int64_t value);
  void resume_local(Process& process, ProcessId id, std::int64_t value);
  /// A running process asks, or ends, at `clock`.
  void accept(ProcessId id, Time clock, State next);
  void fail_if_dead() const;

  void on_event(std::uint64_t payload) override;
  Time earliest() const override;
  void wait() override;
  void report_blocked(std::vector<Blocked>& blocked) const override;

  Engine& engine_;
  Service& service_;
  std::deque<Process> processes_;  // References to its elements stay good.
  std::unique_ptr<ExternalPool> pool_;
  std::vector<ProcessId> in_slot_;
  std::vector<ExternalPool::Request> requests_;

  mutable std::mutex mutex_;  // Of `dead_`.
  mutable std::vector<std::pair<ProcessId, std::string>> dead_;
  mutable std::atomic<bool> has_dead_ = false;
};

}  // namespace orrery::engine
