// SPDX-License-Identifier: Apache-2.0
// What one call costs on each carrier: two processes call in turn, each call is answered at once.
// The figures of docs/process-contract.md come from here.
#include <fmt/format.h>
#include <sched.h>

#include <chrono>

#include "orrery/engine/process_reaper.hpp"

namespace orrery::engine {
namespace {

using namespace std::chrono_literals;

constexpr int kProcesses = 2;

class Echo final : public Service {
 public:
  Echo(Engine& engine, std::uint32_t externals) : host{engine, *this, {.externals = externals}} {}
  void handle(ProcessId process, const Call& /*call*/) override { host.answer(process); }
  void describe(ProcessId /*process*/, Blocked& /*blocked*/) const override {}
  ProcessHost host;
};

Task<> call_local(LocalPort& port, int calls) {
  for (int i = 0; i < calls; ++i) {
    port.advance(1ns);
    co_await port.call({});
  }
}

void call_external(ExternalPort& port, int calls) {
  for (int i = 0; i < calls; ++i) {
    port.advance(1ns);
    port.call({});
  }
}

template <class Setup>
double nanoseconds_per_call(int calls, std::uint32_t externals, Setup&& setup) {
  Engine engine;
  Echo echo{engine, externals};
  [[maybe_unused]] const auto carriers = setup(echo.host, calls);
  const auto begin = std::chrono::steady_clock::now();
  echo.host.run();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / (static_cast<double>(calls) * kProcesses);
}

void measure() {
  const double local = nanoseconds_per_call(2'000'000, 0, [](ProcessHost& host, int calls) {
    for (int i = 0; i < kProcesses; ++i) {
      host.add_local("local", [calls](LocalPort& port) { return call_local(port, calls); });
    }
    return 0;
  });
  const double thread = nanoseconds_per_call(50'000, kProcesses, [](ProcessHost& host, int calls) {
    auto threads = std::make_unique<ExternalThreads>(host);
    for (int i = 0; i < kProcesses; ++i) {
      threads->start(host.add_external("thread"),
                     [calls](ExternalPort& port) { call_external(port, calls); });
    }
    return threads;
  });
  const double process = nanoseconds_per_call(50'000, kProcesses, [](ProcessHost& host, int calls) {
    auto reaper = std::make_unique<ProcessReaper>(host);
    for (int i = 0; i < kProcesses; ++i) {
      reaper->fork(host.add_external("process"), [calls](ExternalPort& port) { call_external(port, calls); });
    }
    return reaper;
  });
  fmt::print("  coroutine {:8.0f} ns   thread {:8.0f} ns   process {:8.0f} ns\n", local, thread, process);
}

void run_bench() {
  fmt::print("any core:\n");
  for (int i = 0; i < 5; ++i) measure();
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  ::sched_setaffinity(0, sizeof(first), &first);  // Threads and children inherit it.
  fmt::print("one core:\n");
  for (int i = 0; i < 5; ++i) measure();
}

}  // namespace
}  // namespace orrery::engine

int main() { orrery::engine::run_bench(); }
