// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/testing/scenario.hpp"

#include <algorithm>
#include <chrono>

#include "orrery/base/rng.hpp"

namespace orrery::engine::testing {
namespace {

using namespace std::chrono_literals;

/// Tags of one kind of receive are never used by another, so that nobody takes a message that others need.
constexpr std::int64_t kNamedTag = 0;
constexpr std::int64_t kAnyTag = 10;
constexpr std::int64_t kHandleTag = 20;

class Maker {
 public:
  Maker(std::uint64_t seed, const ScenarioOptions& options) : rng_{seed, "scenario"}, options_{options} {
    result_.processes.resize(static_cast<std::size_t>(options.processes));
    owed_.resize(result_.processes.size());
    // Often nothing takes any time, so that much happens at one instant.
    result_.latency = rng_.between(0, 2) == 0 ? Duration::zero() : Duration{1ns} * rng_.between(1, 3);
    result_.per_byte = Duration{rng_.between(0, 2)};
    for (Scenario::Process& process : result_.processes) {
      if (rng_.between(0, 2) == 0) process.lookahead = Duration{1ns} * rng_.between(1, 4);
    }
    make_groups();
  }

  Scenario make() {
    const std::int64_t lost = options_.deadlocks ? rng_.between(0, options_.length / 2) : -1;
    for (int i = 0; i < options_.length; ++i) {
      if (i == lost) {
        append(any_process(), {kReceive, {kAny, -1}});
      } else {
        act();
      }
    }
    for (std::uint32_t process = 0; process < owed_.size(); ++process) settle(process);
    return std::move(result_);
  }

 private:
  std::uint32_t any_process() { return static_cast<std::uint32_t>(rng_.between(0, options_.processes - 1)); }
  Duration any_duration() {
    constexpr Duration kChoices[] = {0ns, 0ns, 1ns, 1ns, 2ns, 7ns};
    return kChoices[rng_.between(0, std::ssize(kChoices) - 1)];
  }

  void make_groups() {
    std::vector<std::uint32_t> everybody(result_.processes.size());
    for (std::uint32_t i = 0; i < everybody.size(); ++i) everybody[i] = i;
    result_.groups.push_back(everybody);
    for (int group = 0; group < 3; ++group) {
      std::vector<std::uint32_t> members;
      for (const std::uint32_t process : everybody) {
        if (rng_.between(0, 1) == 0) members.push_back(process);
      }
      if (!members.empty()) result_.groups.push_back(members);
    }
  }

  void append(std::uint32_t process, const Call& call) {
    result_.processes[process].actions.push_back({any_duration(), Action::kCall, call});
  }
  void append_wait_all(std::uint32_t process) {
    result_.processes[process].actions.push_back({any_duration(), Action::kWaitAll, {}});
  }
  /// Appends what a process has yet to do about messages sent to it.
  void settle(std::uint32_t process) {
    for (const Call& call : owed_[process]) append(process, call);
    owed_[process].clear();
    append_wait_all(process);
  }

  void act() {
    const std::uint32_t source = any_process();
    const std::uint32_t target = any_process();
    const std::int64_t bytes = rng_.between(0, 3) * 100;
    const std::int64_t which = rng_.between(0, 99);
    if (which < 35) {
      const std::int64_t tag = kNamedTag + rng_.between(0, 2);
      append(source, {kSend, {target, tag, bytes}});
      owe(target, {kReceive, {source, tag}});
    } else if (which < 55) {
      append(source, {kSend, {target, kAnyTag, bytes}});
      owe(target, {kReceive, {kAny, kAnyTag}});
    } else if (which < 75) {
      const bool is_any = rng_.between(0, 1) == 0;
      const std::int64_t tag = kHandleTag + (is_any ? 1 : 0);
      append(target, {kStartReceive, {is_any ? kAny : source, tag}});
      append(source, {kStartSend, {target, tag, bytes}});
      if (rng_.between(0, 2) == 0) append_wait_all(target);
    } else if (which < 85) {
      const auto group = static_cast<std::size_t>(rng_.between(0, std::ssize(result_.groups) - 1));
      for (const std::uint32_t member : result_.groups[group]) {
        append(member, {kBarrier, {static_cast<std::int64_t>(group)}});
      }
    } else if (which < 95) {
      append(source, {kSleep, {count_ps(any_duration())}});
    } else {
      settle(source);
    }
  }
  void owe(std::uint32_t process, const Call& call) {
    if (rng_.between(0, 1) == 0) {
      append(process, call);
    } else {
      owed_[process].push_back(call);
    }
  }

  Rng rng_;
  ScenarioOptions options_;
  Scenario result_;
  std::vector<std::vector<Call>> owed_;
};

}  // namespace

Scenario random_scenario(std::uint64_t seed, const ScenarioOptions& options) {
  return Maker{seed, options}.make();
}

Interpreter::Step Interpreter::next() {
  Step step{.compute = process_.lookahead, .is_end = false, .call = {}};
  while (at_ < process_.actions.size()) {
    const Action& action = process_.actions[at_];
    const bool is_wait = action.kind == Action::kWaitAll;
    if (is_wait && handles_.empty()) {
      ++at_;
      continue;
    }
    step.compute += action.compute * static_cast<std::int64_t>(seen_ % 4);
    if (!is_wait) {
      step.call = action.call;
      return step;
    }
    step.call = {kWaitAny, {-1, -1, -1, -1}};
    std::copy_n(handles_.begin(), std::min(handles_.size(), kMostHandles), step.call.arguments.begin());
    return step;
  }
  step.is_end = true;
  return step;
}

Entry Interpreter::take(Time clock, std::int64_t answer) {
  const Action& action = process_.actions[at_];
  if (action.kind == Action::kWaitAll) {
    std::erase(handles_, answer);
  } else {
    const bool has_handle = action.call.operation == kStartSend || action.call.operation == kStartReceive;
    if (has_handle) handles_.push_back(answer);
    ++at_;
  }
  seen_ = (seen_ ^ static_cast<std::uint64_t>(answer) ^ static_cast<std::uint64_t>(count_ps(clock))) *
          0x9E3779B97F4A7C15ULL;
  seen_ ^= seen_ >> 31;
  return {count_ps(clock), answer};
}

}  // namespace orrery::engine::testing
