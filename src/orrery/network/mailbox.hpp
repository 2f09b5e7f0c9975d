// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages from one modelled process to another: post() returns at once, receive() waits for the next to arrive.
#include <string>
#include <utility>

#include "orrery/base/text.hpp"
#include "orrery/engine/task.hpp"
#include "orrery/network/network_model.hpp"

namespace orrery::network {

/// One direction of a connection; in order. One task at a time may wait in receive().
class Mailbox final : public Pinned, Receiver, engine::Watch {
 public:
  Mailbox(NetworkContext& context, NetworkModel& network, topology::NodeId source, topology::NodeId target)
      : engine_{context.engine},
        network_{network},
        route_{context.router.route(source, target)},
        stream_{network.open_stream()},
        from_{context.router.graph().name(source)},
        to_{context.router.graph().name(target)} {
    engine_.add_watch(*this);
  }
  ~Mailbox() { engine_.remove_watch(*this); }

  void post(Bytes size) {
    network_.send({.route = route_, .size = size, .stream = stream_, .receiver = this, .cookie = 0});
  }

  struct Receive {
    Mailbox& box;
    [[nodiscard]] bool await_ready() const noexcept { return box.unread_ > 0; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) {
      box.waiting_ = engine::Suspended{handle};
      box.is_waited_on_ = true;
    }
    void await_resume() const noexcept { --box.unread_; }
  };
  /// co_await box.receive(): goes on when a message has arrived, at once if one is there.
  [[nodiscard]] Receive receive() { return {*this}; }

 private:
  void on_delivered(std::uint64_t /*cookie*/) override {
    ++unread_;
    if (std::exchange(is_waited_on_, false)) waiting_.resume();
  }
  void report_blocked(std::vector<engine::Blocked>& blocked) const override {
    if (is_waited_on_) blocked.push_back({to_, "receive from " + from_, {from_}});
  }

  engine::Engine& engine_;
  NetworkModel& network_;
  topology::RouteId route_;
  StreamId stream_;
  std::string from_;
  std::string to_;
  std::uint64_t unread_ = 0;
  engine::Suspended waiting_;
  bool is_waited_on_ = false;
};

}  // namespace orrery::network
