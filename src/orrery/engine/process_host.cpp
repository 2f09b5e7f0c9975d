// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/process_host.hpp"

#include <algorithm>

#include "orrery/base/text.hpp"

namespace orrery::engine {

ProcessHost::ProcessHost(Engine& engine, Service& service, const HostOptions& options)
    : engine_{engine}, service_{service} {
  engine.add_watch(*this);
  if (options.externals == 0) return;
  pool_ = std::make_unique<ExternalPool>(options.externals, options.concurrency, !options.may_drop);
  engine.set_gate(this);
}

ProcessHost::~ProcessHost() {
  close();
  engine_.remove_watch(*this);
  if (pool_ != nullptr) engine_.set_gate(nullptr);
}

ProcessId ProcessHost::add(Process process, Time start) {
  ORRERY_CHECK(process.lookahead >= Duration::zero(), "negative lookahead of {}", process.name);
  process.origin = engine_.add_origin(process.name);
  processes_.push_back(std::move(process));
  const ProcessId id{processes_.size() - 1};
  engine_.schedule(start, Phase::kWake, processes_.back().origin, *this, id.value());
  return id;
}

ProcessId ProcessHost::add_local(std::string name, Body body, const ProcessOptions& options) {
  Process process;
  process.name = std::move(name);
  process.lookahead = options.lookahead;
  process.body = std::move(body);
  const ProcessId id = add(std::move(process), options.start);
  processes_.back().port = std::make_unique<LocalPort>(*this, id);
  return id;
}

ProcessId ProcessHost::add_external(std::string name, const ProcessOptions& options) {
  ORRERY_CHECK(pool_ != nullptr && in_slot_.size() < pool_->region().size(), "no slot left for {}", name);
  Process process;
  process.name = std::move(name);
  process.lookahead = options.lookahead;
  process.slot = static_cast<std::uint32_t>(in_slot_.size());
  in_slot_.push_back(add(std::move(process), options.start));
  return in_slot_.back();
}

void ProcessHost::run() {
  struct Closer {
    ProcessHost& host;
    ~Closer() { host.close(); }
  } const closer{*this};
  engine_.run();
}

void ProcessHost::close() {
  for (Process& process : processes_) process.task = {};
  if (pool_ != nullptr) pool_->close();
}

void ProcessHost::on_event(std::uint64_t payload) {
  const ProcessId id{static_cast<std::uint32_t>(payload)};
  Process& process = processes_[id.index()];
  switch (process.state) {
    case State::kNew:
      if (process.port != nullptr) {
        process.task = process.body(*process.port);
        process.port->waiting_ = process.task.suspended();
      }
      resume(process, id, 0);
      return;
    case State::kAsking:
      process.state = State::kBlocked;
      service_.handle(id, process.call);
      return;
    case State::kEnding:
      process.state = State::kFinished;
      process.finished_at = engine_.now();
      service_.finished(id);
      return;
    case State::kDropped:
      return;
    case State::kRunning:
    case State::kBlocked:
    case State::kFinished:
      break;
  }
  ORRERY_CHECK(false, "{} has no event to come", process.name);
}

void ProcessHost::answer(ProcessId process, std::int64_t value) {
  Process& asked = processes_[process.index()];
  ORRERY_CHECK(asked.state == State::kBlocked, "{} gets an answer but waits for none", asked.name);
  resume(asked, process, value);
}

void ProcessHost::drop(ProcessId id) {
  Process& process = processes_[id.index()];
  if (process.state == State::kFinished || process.state == State::kDropped) return;
  process.state = State::kDropped;
  process.finished_at = engine_.now();
  if (process.slot != kNoSlot) pool_->drop(process.slot);
}

void ProcessHost::resume(Process& process, ProcessId id, std::int64_t value) {
  process.state = State::kRunning;
  process.resumed_at = engine_.now();
  if (process.slot == kNoSlot) {
    resume_local(process, id, value);
  } else {
    pool_->resume(process.slot, engine_.now(), saturating_add(engine_.now(), process.lookahead), value);
  }
}

void ProcessHost::resume_local(Process& process, ProcessId id, std::int64_t value) {
  LocalPort& port = *process.port;
  port.clock_ = engine_.now();
  port.answer_ = value;
  port.waiting_.resume();
  if (process.task.is_done()) accept(id, port.clock_, State::kEnding);
}

void LocalPort::ask(const Call& call) {
  host_.processes_[process_.index()].call = call;
  host_.accept(process_, clock_, ProcessHost::State::kAsking);
}

void ProcessHost::accept(ProcessId id, Time clock, State next) {
  Process& process = processes_[id.index()];
  ORRERY_CHECK(process.state == State::kRunning, "{} asks while it waits", process.name);
  if (clock < saturating_add(process.resumed_at, process.lookahead)) {
    throw SimulationError{
        fmt::format("{} {} at {}, too early: resumed at {}, it promised a lookahead of {}", process.name,
                    next == State::kEnding ? "ends" : "asks", to_text(clock.time_since_epoch()),
                    to_text(process.resumed_at.time_since_epoch()), to_text(process.lookahead))};
  }
  process.state = next;
  if (next == State::kAsking) service_.announce(id, process.call);
  engine_.schedule(clock, Phase::kArrival, process.origin, *this, id.value());
}

Time ProcessHost::earliest() const {
  if (has_dead_.load(std::memory_order_acquire)) fail_if_dead();
  return pool_->earliest();
}

void ProcessHost::wait() {
  requests_.clear();
  pool_->wait(requests_);
  for (const ExternalPool::Request& request : requests_) {
    const ProcessId id = in_slot_[request.slot];
    processes_[id.index()].call = request.call;
    accept(id, request.clock, request.is_end ? State::kEnding : State::kAsking);
  }
}

void ProcessHost::mark_dead(ProcessId process, std::string reason) {
  ORRERY_CHECK(pool_ != nullptr, "only a program that runs outside can die");
  {
    const std::scoped_lock lock{mutex_};
    dead_.emplace_back(process, std::move(reason));
  }
  has_dead_.store(true, std::memory_order_release);
  pool_->region().ring();
}

void ProcessHost::fail_if_dead() const {
  const std::scoped_lock lock{mutex_};
  has_dead_.store(false, std::memory_order_relaxed);
  std::ranges::sort(dead_);
  std::vector<std::string> lines;
  const std::string* previous = nullptr;
  for (const auto& [id, reason] : dead_) {
    const Process& process = processes_[id.index()];
    if (process.state == State::kDropped) continue;
    if (process.slot != kNoSlot && pool_->has_finished(process.slot)) continue;
    if (previous != nullptr && *previous == reason) {  // Whatever it was, it hit them together.
      lines.back().insert(lines.back().find(" died"), ", " + process.name);
      continue;
    }
    previous = &reason;
    lines.push_back(
        fmt::format("{} died at {}: {}", process.name, to_text(engine_.now().time_since_epoch()), reason));
  }
  dead_.clear();
  if (!lines.empty()) throw SimulationError{join(lines, "\n")};
}

void ProcessHost::report_blocked(std::vector<Blocked>& blocked) const {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process& process = processes_[i];
    if (process.state == State::kFinished || process.state == State::kDropped) continue;
    Blocked& entry = blocked.emplace_back(Blocked{.who = process.name, .what = {}, .waits_on = {}});
    if (process.state == State::kBlocked) {
      service_.describe(ProcessId{i}, entry);
    } else {
      entry.what = "the end of time, where its clock is";  // The engine drops such events.
    }
  }
}

}  // namespace orrery::engine
