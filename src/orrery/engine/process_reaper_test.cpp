// SPDX-License-Identifier: Apache-2.0
// Goal: processes of the operating system die in every way, and the run ends at once, naming them, with nothing left.
#include "orrery/engine/process_reaper.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "orrery/base/text.hpp"
#include "orrery/engine/orrery_port.h"

namespace orrery::engine {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Operation 0 is answered at once with the sum of two arguments; nothing else ever is.
class Adder final : public Service {
 public:
  Adder(Engine& engine, std::uint32_t externals)
      : host{engine, *this, {.externals = externals, .concurrency = 8}} {}
  void handle(ProcessId process, const Call& call) override {
    if (call.operation == 0) host.answer(process, call.arguments[0] + call.arguments[1]);
  }
  void describe(ProcessId /*process*/, Blocked& blocked) const override { blocked.what = "nothing"; }
  ProcessHost host;
};

std::size_t count_entries(const char* directory) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{directory}, {}));
}

bool maps_a_region() {
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:orrery") != std::string::npos) return true;
  }
  return false;
}

/// Every test leaves the process as it found it, in less time than anybody would call a hang.
class ProcessReaperTest : public testing::Test {
 protected:
  /// ThreadSanitizer starts a thread of its own with the first one, which is not to be counted.
  static void SetUpTestSuite() {
    std::thread{[] {}}.join();
  }
  void TearDown() override {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child was left";
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(count_entries("/proc/self/fd"), descriptors_);
    EXPECT_EQ(count_entries("/proc/self/task"), threads_);
    EXPECT_FALSE(maps_a_region());
    EXPECT_LT(std::chrono::steady_clock::now() - begin_, 10s);
  }

  /// Runs one process per body; what the run ended with.
  static std::string run(const std::vector<ExternalBody>& bodies, std::chrono::milliseconds grace = 5s) {
    Engine engine;
    Adder adder{engine, static_cast<std::uint32_t>(bodies.size())};
    ProcessReaper reaper{adder.host, grace};
    for (const ExternalBody& body : bodies) {
      reaper.fork(adder.host.add_external(fmt::format("rank {}", adder.host.size())), body);
    }
    try {
      adder.host.run();
    } catch (const SimulationError& error) {
      return error.what();
    }
    return "";
  }

 private:
  std::size_t descriptors_ = count_entries("/proc/self/fd");
  std::size_t threads_ = count_entries("/proc/self/task");
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void add_often(ExternalPort& port) {
  for (int i = 0; i < 10; ++i) {
    port.advance(1us);
    if (port.call({0, {i, 1}}) != i + 1) ::_exit(99);
  }
}

void wait_for_ever(ExternalPort& port) { port.call({1, {}}); }

TEST_F(ProcessReaperTest, ChildrenComeAndGo) { EXPECT_EQ(run({add_often, add_often, add_often}), ""); }

TEST_F(ProcessReaperTest, KilledWhileItRuns) {
  const std::string error = run({wait_for_ever, [](ExternalPort& port) {
                                   add_often(port);
                                   ::raise(SIGKILL);
                                 }});
  EXPECT_EQ(error, "rank 1 died at 10us: its program was killed by signal 9 (Killed)");
}

TEST_F(ProcessReaperTest, KilledWhileItWaits) {
  // Rank 1 computes without end; the death of rank 0, which is parked, must be seen nevertheless.
  auto* const parked = static_cast<std::atomic<pid_t>*>(
      ::mmap(nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const std::string error = run({[&](ExternalPort& port) {
                                   parked->store(::getpid());
                                   wait_for_ever(port);
                                 },
                                 [&](ExternalPort& port) {
                                   port.advance(1us);
                                   port.call({0, {}});
                                   ::kill(parked->load(), SIGTERM);
                                   for (;;) ::pause();
                                 }},
                                50ms);
  ::munmap(parked, sizeof(pid_t));
  EXPECT_EQ(error, "rank 0 died at 1us: its program was killed by signal 15 (Terminated)");
}

TEST_F(ProcessReaperTest, ExitWithoutEnd) {
  EXPECT_EQ(run({[](ExternalPort&) { ::_exit(7); }, wait_for_ever}),
            "rank 0 died at 0ps: its program exited with status 7 before its end");
}

TEST_F(ProcessReaperTest, DeadlockSendsChildrenHome) {
  EXPECT_THAT(run({wait_for_ever, add_often, wait_for_ever}),
              HasSubstr("deadlock at 10us: nothing left to happen and 2"));
}

TEST_F(ProcessReaperTest, AForkOfAChildMayNotUseItsPort) {
  const std::string error = run({[](ExternalPort& port) {
    const pid_t worker = ::fork();
    if (worker == 0) {
      try {
        port.call({0, {}});
      } catch (const std::logic_error&) {
        ::_exit(42);
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(worker, &status, 0);
    if (WEXITSTATUS(status) != 42) ::_exit(1);
    add_often(port);
  }});
  EXPECT_EQ(error, "");
}

TEST_F(ProcessReaperTest, WithoutItsHostAProgramLeaves) {
  // A coordinator is killed while its program sleeps in a call; the program must not sleep for ever.
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t coordinator = ::fork();
  if (coordinator == 0) {
    Engine engine;
    Adder adder{engine, 1};
    const std::uint32_t slot = adder.host.slot(adder.host.add_external("orphan"));
    if (::fork() == 0) {
      ExternalPort port{adder.host.region(), slot};
      bool is_closed = false;
      try {
        port.start();
      } catch (const PortClosed&) {
        is_closed = true;
      }
      ::_exit(::write(ends[1], is_closed ? "c" : "?", 1) == 1 ? 0 : 1);
    }
    ::raise(SIGKILL);
  }
  ::close(ends[1]);
  ::waitpid(coordinator, nullptr, 0);
  char answer = 0;
  EXPECT_EQ(::read(ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'c');
  ::close(ends[0]);
}

TEST_F(ProcessReaperTest, AProgramOfItsOwnOpensTheRegion) {
  Engine engine;
  Adder adder{engine, 1};
  ProcessReaper reaper{adder.host};
  const ProcessId id = adder.host.add_external("program");
  const int descriptor = adder.host.region().descriptor();
  const std::string argument = std::to_string(descriptor);
  const pid_t child = ::fork();
  if (child == 0) {
    ::fcntl(descriptor, F_SETFD, 0);  // To be inherited.
    ::execl(ORRERY_PORT_PROGRAM, "port_program", argument.c_str(), nullptr);
    ::_exit(1);
  }
  reaper.watch(id, child);
  adder.host.run();
  EXPECT_EQ(adder.host.finished_at(id), Time{Duration{500}});
}

TEST(OrreryPort, WhatIsNotARegionIsRefused) {
  EXPECT_EQ(orrery_port_open(-1, 0), nullptr);
  EXPECT_EQ(errno, EBADF);
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(orrery_port_open(file, 0), nullptr);
  ::close(file);
  const ExternalRegion region = ExternalRegion::create(2);
  EXPECT_EQ(orrery_port_open(region.descriptor(), 2), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace orrery::engine
