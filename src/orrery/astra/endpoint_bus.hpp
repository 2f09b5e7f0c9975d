// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The optional LogGP bus between an NPU and its NIC (model-shared-bus): one side sends at a time, after gap or
/// overhead; a packet that is reduced is also processed, and everything on the NPU's side crosses a second bus of the
/// same kind, to memory.
#include <array>
#include <cstdint>
#include <deque>

#include "orrery/base/pool.hpp"

namespace orrery::astra {

class Machine;

class EndpointBus {
 public:
  EndpointBus(Machine& machine, std::uint32_t rank);
  /// A packet of a chunk crosses; then the chunk is told, after its reduction when it is reduced.
  void cross(std::uint32_t chunk, bool to_nic, bool reduces, bool sends_back, std::uint64_t size);
  void on_event(std::uint32_t side, std::uint32_t what);

 private:
  enum class State : std::uint8_t { kFree, kSending, kReceiving };
  enum class What : std::uint8_t { kGeneral, kSent, kReceived, kProcessed, kRetire, kProcess, kSendBack };
  struct Request {
    std::uint64_t size = 0;
    bool is_processed = false;  ///< Still to be.
    bool sends_back = false;
    bool is_memory = false;  ///< Of the bus to memory: wakes `request` of the outer side for `then`.
    std::uint32_t request = 0;
    What then = What::kGeneral;
    std::uint32_t chunk = 0;  ///< Of the outer bus.
    bool reduces = false;
  };
  struct Side {
    State state = State::kFree;
    State before = State::kFree;
    std::uint64_t last_transfer = 0;
    std::uint32_t sent_in_a_row = 0;
    bool is_processing = false;
    bool has_memory = false;
    double gap_per_byte = 0;
    std::uint32_t partner = 0;
    std::deque<std::uint32_t> sends{};
    std::deque<std::uint32_t> receives{};
    std::deque<std::uint32_t> processing{};
  };
  static constexpr std::uint32_t kNpu = 0;
  static constexpr std::uint32_t kNic = 1;
  static constexpr std::uint32_t kMemoryNear = 2;
  static constexpr std::uint32_t kMemoryFar = 3;

  [[nodiscard]] std::uint32_t make(const Request& request);
  void ask(std::uint32_t side, std::uint32_t request);
  /// The request waits for the memory bus; then `then` happens to it.
  void through_memory(std::uint32_t request, What then, bool from_near, bool comes_back);
  void handle(std::uint32_t side, What what, std::uint32_t request);
  void received(std::uint32_t side);
  void processed(std::uint32_t side);
  void start_processing(std::uint32_t side);
  void send_next(std::uint32_t side);
  void send_if_free(std::uint32_t side);
  void retire(std::uint32_t request);
  void later(std::uint32_t side, What what, std::uint64_t delay);

  Machine& machine_;
  std::uint32_t rank_;
  std::array<Side, 4> sides_{};
  Pool<Request> requests_;
};

}  // namespace orrery::astra
