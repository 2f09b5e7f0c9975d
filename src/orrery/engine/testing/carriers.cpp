// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/testing/carriers.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "orrery/base/rng.hpp"
#include "orrery/engine/process_reaper.hpp"
#include "orrery/engine/testing/message_service.hpp"

namespace orrery::engine::testing {
namespace {

/// What every process saw, in memory that forked children share.
class Logs : Pinned {
 public:
  explicit Logs(std::size_t processes) : processes_{processes} {
    memory_ =
        ::mmap(nullptr, processes * sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ORRERY_CHECK(memory_ != MAP_FAILED, "no memory for logs");
  }
  ~Logs() { ::munmap(memory_, processes_ * sizeof(Log)); }

  void add(std::size_t process, const Entry& entry) {
    Log& log = static_cast<Log*>(memory_)[process];
    ORRERY_CHECK(log.count < kMost, "log full");
    log.entries[log.count++] = entry;
  }
  [[nodiscard]] std::vector<Entry> of(std::size_t process) const {
    const Log& log = static_cast<const Log*>(memory_)[process];
    return {log.entries, log.entries + log.count};
  }

 private:
  static constexpr std::size_t kMost = 4096;
  struct Log {
    std::size_t count;
    Entry entries[kMost];
  };
  std::size_t processes_;
  void* memory_;
};

Task<> run_local(LocalPort& port, const Scenario::Process& process, std::size_t index, Logs& logs) {
  Interpreter interpreter{process};
  for (;;) {
    const Interpreter::Step step = interpreter.next();
    port.advance(step.compute);
    if (step.is_end) co_return;
    const std::int64_t answer = co_await port.call(step.call);
    logs.add(index, interpreter.take(port.clock(), answer));
  }
}

/// Delays in real time, which nothing may depend on.
class Disturbance {
 public:
  Disturbance(std::uint64_t seed, std::size_t process)
      : is_on_{seed != 0}, rng_{seed, fmt::format("rank[{}]", process)} {}
  void strike() {
    if (!is_on_) return;
    const std::int64_t which = rng_.between(0, 15);
    if (which < 2) std::this_thread::sleep_for(std::chrono::microseconds{rng_.between(0, 60)});
    if (which > 10) ::sched_yield();
  }

 private:
  bool is_on_;
  Rng rng_;
};

void run_external(ExternalPort& port, const Scenario::Process& process, std::size_t index, Logs& logs,
                  const CarrierOptions& options) {
  if (options.pin) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(index % std::max(1U, std::thread::hardware_concurrency()), &cores);
    ::sched_setaffinity(0, sizeof(cores), &cores);
  }
  Disturbance disturbance{options.disturb, index};
  Interpreter interpreter{process};
  for (;;) {
    const Interpreter::Step step = interpreter.next();
    disturbance.strike();
    port.advance(step.compute);
    if (step.is_end) return;
    const std::int64_t answer = port.call(step.call);
    logs.add(index, interpreter.take(port.clock(), answer));
  }
}

/// Adds every process of the scenario; `start` gives it a carrier.
template <class Start>
void add_external(ProcessHost& host, const Scenario& scenario, Logs& logs, const CarrierOptions& options,
                  Start&& start) {
  for (std::size_t i = 0; i < scenario.processes.size(); ++i) {
    const Scenario::Process& process = scenario.processes[i];
    const ProcessId id =
        host.add_external(fmt::format("rank {}", i), {.start = {}, .lookahead = process.lookahead});
    start(id, [&process, i, &logs, options](ExternalPort& port) {
      run_external(port, process, i, logs, options);
    });
  }
}

void run(ProcessHost& host, const Scenario& scenario, Logs& logs, Carrier carrier,
         const CarrierOptions& options) {
  switch (carrier) {
    case Carrier::kCoroutines:
      for (std::size_t i = 0; i < scenario.processes.size(); ++i) {
        const Scenario::Process& process = scenario.processes[i];
        host.add_local(fmt::format("rank {}", i),
                       [&process, i, &logs](LocalPort& port) { return run_local(port, process, i, logs); },
                       {.start = {}, .lookahead = process.lookahead});
      }
      return host.run();
    case Carrier::kThreads: {
      ExternalThreads threads{host};
      add_external(host, scenario, logs, options,
                   [&](ProcessId id, ExternalBody body) { threads.start(id, std::move(body)); });
      return host.run();
    }
    case Carrier::kProcesses: {
      ProcessReaper reaper{host};
      add_external(host, scenario, logs, options,
                   [&](ProcessId id, const ExternalBody& body) { reaper.fork(id, body); });
      return host.run();
    }
  }
}

}  // namespace

Outcome run_scenario(const Scenario& scenario, Carrier carrier, const CarrierOptions& options) {
  Outcome outcome;
  Logs logs{scenario.processes.size()};
  Engine engine{{.rounds_per_instant = options.rounds_per_instant}};
  {
    const auto externals =
        carrier == Carrier::kCoroutines ? 0 : static_cast<std::uint32_t>(scenario.processes.size());
    MessageService service{
        engine,
        scenario,
        {.externals = externals, .concurrency = options.concurrency, .may_drop = options.may_drop}};
    try {
      run(service.host(), scenario, logs, carrier, options);
    } catch (const std::exception& error) {
      outcome.error = error.what();
    }
  }
  outcome.digest = engine.digest();
  outcome.executed = engine.executed();
  outcome.end = count_ps(engine.now());
  for (std::size_t i = 0; i < scenario.processes.size(); ++i) outcome.logs.push_back(logs.of(i));
  return outcome;
}

}  // namespace orrery::engine::testing
