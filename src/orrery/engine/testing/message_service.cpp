// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/testing/message_service.hpp"

#include <algorithm>

namespace orrery::engine::testing {
namespace {

/// Payloads of our own events: the end of a sleep, or the delivery of a message.
constexpr std::uint64_t kDelivery = std::uint64_t{1} << 32;

}  // namespace

MessageService::MessageService(Engine& engine, const Scenario& scenario, const HostOptions& options)
    : engine_{engine},
      scenario_{scenario},
      origin_{engine.add_origin("network")},
      mailboxes_(scenario.processes.size()),
      calls_(scenario.processes.size()),
      host_{engine, *this, options} {}

void MessageService::handle(ProcessId process, const Call& call) {
  calls_[process.index()] = call;
  const auto& arguments = call.arguments;
  switch (call.operation) {
    case kSend:
      return host_.answer(process, send(process, call, false));
    case kStartSend:
      return host_.answer(process, send(process, call, true));
    case kReceive:
      return receive(process, {arguments[0], arguments[1], -1});
    case kStartReceive: {
      const std::int64_t handle = new_handle();
      receive(process, {arguments[0], arguments[1], handle});
      return host_.answer(process, handle);
    }
    case kWaitAny:
      mailboxes_[process.index()].waits_any.assign(arguments.begin(), arguments.begin() + kMostHandles);
      return try_wait_any(process);
    case kBarrier:
      return enter(process, static_cast<std::size_t>(arguments[0]));
    case kSleep:
      return engine_.schedule(engine_.now() + Duration{arguments[0]}, Phase::kWake, origin_, *this,
                              process.value());
    default:
      ORRERY_CHECK(false, "operation {}", call.operation);
  }
}

std::int64_t MessageService::new_handle() {
  handles_.emplace_back();
  return std::ssize(handles_) - 1;
}

std::int64_t MessageService::send(ProcessId source, const Call& call, bool with_handle) {
  const auto& [target, tag, bytes, a, b, c] = call.arguments;
  const std::int64_t handle = with_handle ? new_handle() : -1;
  messages_.push_back({source, ProcessId{static_cast<std::uint32_t>(target)}, tag, handle});
  engine_.schedule(engine_.now() + scenario_.latency + bytes * scenario_.per_byte, Phase::kDelivery, origin_,
                   *this, kDelivery | (messages_.size() - 1));
  return with_handle ? handle : std::ssize(messages_) - 1;
}

void MessageService::on_event(std::uint64_t payload) {
  if (payload < kDelivery) return host_.answer(ProcessId{static_cast<std::uint32_t>(payload)});
  const auto index = static_cast<std::size_t>(payload & (kDelivery - 1));
  const Message message = messages_[index];
  mailboxes_[message.target.index()].arrived.push_back(static_cast<std::int64_t>(index));
  if (message.handle >= 0) complete(message.source, message.handle);
  match(message.target);
}

void MessageService::receive(ProcessId process, const Receive& receive) {
  mailboxes_[process.index()].posted.push_back(receive);
  match(process);
}

void MessageService::match(ProcessId process) {
  Mailbox& box = mailboxes_[process.index()];
  for (std::size_t i = 0; i < box.arrived.size();) {
    const std::int64_t index = box.arrived[i];
    const Message& message = messages_[static_cast<std::size_t>(index)];
    const auto found = std::ranges::find_if(box.posted, [&](const Receive& receive) {
      return receive.tag == message.tag &&
             (receive.source == kAny || receive.source == message.source.value());
    });
    if (found == box.posted.end()) {
      ++i;
      continue;
    }
    const std::int64_t handle = found->handle;
    box.posted.erase(found);
    box.arrived.erase(box.arrived.begin() + static_cast<std::ptrdiff_t>(i));
    if (handle >= 0) {
      complete(process, handle);
    } else {
      host_.answer(process, index);
    }
  }
}

void MessageService::complete(ProcessId owner, std::int64_t handle) {
  handles_[static_cast<std::size_t>(handle)].completed = completed_++;
  if (!mailboxes_[owner.index()].waits_any.empty()) try_wait_any(owner);
}

void MessageService::try_wait_any(ProcessId process) {
  Mailbox& box = mailboxes_[process.index()];
  std::int64_t first = -1;
  const auto order = [&](std::int64_t handle) {
    return handles_[static_cast<std::size_t>(handle)].completed;
  };
  for (const std::int64_t handle : box.waits_any) {
    if (handle < 0 || order(handle) < 0) continue;
    if (first < 0 || order(handle) < order(first)) first = handle;
  }
  if (first < 0) return;
  box.waits_any.clear();
  host_.answer(process, first);
}

void MessageService::enter(ProcessId process, std::size_t group) {
  std::vector<ProcessId>& inside = inside_[group];
  inside.push_back(process);
  if (inside.size() < scenario_.groups[group].size()) return;
  std::vector<ProcessId> leaving;
  leaving.swap(inside);
  for (std::size_t i = 0; i < leaving.size(); ++i) host_.answer(leaving[i], static_cast<std::int64_t>(i));
}

void MessageService::describe(ProcessId process, Blocked& blocked) const {
  const Call& call = calls_[process.index()];
  const auto& arguments = call.arguments;
  if (call.operation == kReceive && arguments[0] != kAny) {
    blocked.waits_on.push_back(host_.name(ProcessId{static_cast<std::uint32_t>(arguments[0])}));
    blocked.what = fmt::format("receive from {}, tag {}", blocked.waits_on.front(), arguments[1]);
  } else if (call.operation == kReceive) {
    blocked.what = fmt::format("receive from anybody, tag {}", arguments[1]);
  } else if (call.operation == kBarrier) {
    const auto group = static_cast<std::size_t>(arguments[0]);
    const std::vector<ProcessId>& inside = inside_.at(group);
    for (const std::uint32_t member : scenario_.groups[group]) {
      if (std::ranges::find(inside, ProcessId{member}) != inside.end()) continue;
      blocked.waits_on.push_back(host_.name(ProcessId{member}));
    }
    blocked.what = fmt::format("barrier of group {}", group);
  } else {
    blocked.what = fmt::format("operation {}", call.operation);
  }
}

}  // namespace orrery::engine::testing
