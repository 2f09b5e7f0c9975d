// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/endpoint_bus.hpp"

#include <fmt/format.h>

#include "orrery/astra/custom_run.hpp"
#include "orrery/astra/machine.hpp"

namespace orrery::astra {
namespace {

constexpr double kMemoryGapPerByte = 0.0038;  // ns, fixed in ASTRA-sim.
constexpr std::uint32_t kRowMax = 8;          // So many in a row before the other side gets its turn.
constexpr std::uint64_t kSizeMax = 2147483647;

}  // namespace

EndpointBus::EndpointBus(Machine& machine, std::uint32_t rank) : machine_{machine}, rank_{rank} {
  for (std::uint32_t i = 0; i < sides_.size(); ++i) {
    sides_[i].partner = i ^ 1U;
    sides_[i].gap_per_byte = i < kMemoryNear ? machine.system_.bus.gap_per_byte : kMemoryGapPerByte;
  }
  sides_[kNpu].has_memory = true;
}

std::uint32_t EndpointBus::make(const Request& request) {
  const std::uint32_t number = requests_.take();
  requests_[number] = request;
  return number;
}

void EndpointBus::cross(std::uint32_t chunk, bool to_nic, bool reduces, bool sends_back, std::uint64_t size) {
  if (size > kSizeMax) {
    throw SimulationError{fmt::format(
        "rank {}: a packet of {} bytes; ASTRA-sim's shared bus takes at most {}", rank_, size, kSizeMax)};
  }
  const std::uint32_t request = make(
      {.size = size, .is_processed = reduces, .sends_back = sends_back, .chunk = chunk, .reduces = reduces});
  ask(to_nic ? kNpu : kNic, request);
}

void EndpointBus::ask(std::uint32_t number, std::uint32_t request) {
  Side& side = sides_[number];
  if (side.has_memory) {
    through_memory(request, What::kSendBack, false, false);
    return;
  }
  side.sends.push_back(request);
  if (side.state == State::kFree) send_if_free(number);
}

void EndpointBus::through_memory(std::uint32_t request, What then, bool from_near, bool comes_back) {
  const std::uint32_t inner = make({.size = requests_[request].size,
                                    .sends_back = comes_back,
                                    .is_memory = true,
                                    .request = request,
                                    .then = then});
  ask(from_near ? kMemoryNear : kMemoryFar, inner);
}

void EndpointBus::later(std::uint32_t side, What what, std::uint64_t delay) {
  machine_.plan(rank_, delay,
                {.kind = Callback::Kind::kBus, .subject = side, .detail = static_cast<std::uint32_t>(what)});
}

void EndpointBus::on_event(std::uint32_t side, std::uint32_t what) {
  handle(side, static_cast<What>(what), kNone);
}

void EndpointBus::handle(std::uint32_t number, What what, std::uint32_t request) {
  Side& side = sides_[number];
  switch (what) {
    case What::kGeneral:
      break;
    case What::kSent:
      side.last_transfer = machine_.instants_.now();
      side.before = side.state;
      side.state = State::kFree;
      ++side.sent_in_a_row;
      break;
    case What::kReceived:
      received(number);
      break;
    case What::kProcessed:
      processed(number);
      break;
    case What::kRetire:
      retire(request);
      break;
    case What::kProcess:
      side.processing.push_back(request);
      if (!side.is_processing) start_processing(number);
      break;
    case What::kSendBack:
      side.sends.push_back(request);
      break;
  }
  if (side.state == State::kFree) send_if_free(number);
}

void EndpointBus::received(std::uint32_t number) {
  Side& side = sides_[number];
  side.last_transfer = machine_.instants_.now();
  side.before = side.state;
  if (side.receives.size() < 2) side.state = State::kFree;
  const std::uint32_t request = side.receives.front();
  if (requests_[request].is_processed) {
    requests_[request].is_processed = false;
    side.receives.pop_front();
    if (side.has_memory) {
      through_memory(request, What::kProcess, true, true);
    } else {
      side.processing.push_back(request);
    }
    if (!side.is_processing && !side.processing.empty()) start_processing(number);
  } else if (requests_[request].sends_back) {
    requests_[request].sends_back = false;
    side.receives.pop_front();
    if (side.has_memory) {
      through_memory(request, What::kSendBack, true, true);
    } else {
      side.sends.push_back(request);
    }
  } else if (side.has_memory) {
    through_memory(request, What::kRetire, true, false);
    side.receives.pop_front();
  } else {
    retire(request);
    side.receives.pop_front();
  }
}

void EndpointBus::processed(std::uint32_t number) {
  Side& side = sides_[number];
  side.is_processing = false;
  const std::uint32_t request = side.processing.front();
  if (requests_[request].sends_back) {
    requests_[request].sends_back = false;
    side.processing.pop_front();
    if (side.has_memory) {
      through_memory(request, What::kSendBack, true, true);
    } else {
      side.sends.push_back(request);
    }
  } else if (side.has_memory) {
    through_memory(request, What::kRetire, true, false);
    side.processing.pop_front();
  } else {
    retire(request);
    side.processing.pop_front();
  }
  if (!side.processing.empty()) start_processing(number);
}

void EndpointBus::start_processing(std::uint32_t number) {
  Side& side = sides_[number];
  side.is_processing = true;
  const std::uint64_t size = requests_[side.processing.front()].size;
  later(number, What::kProcessed,
        size / 100 * static_cast<std::uint64_t>(machine_.system_.bus.reduction_delay) + 50);
}

/// After many sends in a row the other side comes first, if it has something to send.
void EndpointBus::send_if_free(std::uint32_t number) {
  Side& side = sides_[number];
  if (side.sends.empty()) return;
  const Side& partner = sides_[side.partner];
  if (side.sent_in_a_row > kRowMax && !partner.sends.empty() && partner.sent_in_a_row <= kRowMax) {
    if (partner.state == State::kFree) handle(side.partner, What::kGeneral, kNone);
    return;
  }
  send_next(number);
}

void EndpointBus::send_next(std::uint32_t number) {
  const SharedBus& bus = machine_.system_.bus;
  Side& side = sides_[number];
  std::uint64_t offset = bus.overhead;
  const std::uint64_t since = machine_.instants_.now() - side.last_transfer;
  if (side.before == State::kSending && bus.overhead + since <= bus.gap) offset = bus.gap - since;
  const std::uint32_t request = side.sends.front();
  const double bytes = static_cast<double>(requests_[request].size) - 1;

  Side& partner = sides_[side.partner];
  partner.receives.push_back(request);
  partner.before = partner.state;
  partner.state = State::kReceiving;
  const double arrives = static_cast<double>(offset) + bytes * partner.gap_per_byte +
                         static_cast<double>(bus.latency) + static_cast<double>(bus.overhead);
  later(side.partner, What::kReceived, static_cast<std::uint64_t>(arrives));
  partner.sent_in_a_row = 0;

  side.sends.pop_front();
  side.state = State::kSending;
  const double leaves = static_cast<double>(offset) + side.gap_per_byte * bytes;
  later(number, What::kSent, static_cast<std::uint64_t>(leaves));
}

/// The request is through: whoever asked goes on.
void EndpointBus::retire(std::uint32_t number) {
  const Request request = requests_[number];
  requests_.give_back(number);
  if (request.is_memory) {
    handle(kNpu, request.then, request.request);
    return;
  }
  if (request.reduces) {
    machine_.plan(rank_, machine_.chunks_[request.chunk].reduction,
                  {.kind = Callback::Kind::kReduced, .subject = request.chunk});
  } else {
    machine_.chunk_ready(request.chunk);
  }
}

}  // namespace orrery::astra
