// SPDX-License-Identifier: Apache-2.0
// No exception may cross into C: each becomes an errno.
#include "orrery/engine/orrery_port.h"

#include <algorithm>
#include <memory>
#include <system_error>

#include "orrery/engine/external_port.hpp"

using orrery::Duration;
using orrery::engine::Call;
using orrery::engine::ExternalPort;
using orrery::engine::ExternalRegion;
using orrery::engine::PortClosed;

struct orrery_port {
  orrery_port(int descriptor, std::uint32_t slot)
      : region{ExternalRegion::open(descriptor)}, port{region, slot} {}
  ExternalRegion region;
  ExternalPort port;
};

namespace {

template <class Action>
int guarded(Action&& action) noexcept {
  try {
    action();
    return 0;
  } catch (const PortClosed&) {
    errno = ECANCELED;
  } catch (const std::system_error& error) {
    errno = error.code().value();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  } catch (...) {
    errno = EINVAL;
  }
  return -1;
}

}  // namespace

orrery_port* orrery_port_open(int descriptor, uint32_t slot) {
  std::unique_ptr<orrery_port> port;
  guarded([&] { port = std::make_unique<orrery_port>(descriptor, slot); });
  return port.release();
}

void orrery_port_close(orrery_port* port) { delete port; }

int orrery_port_start(orrery_port* port) {
  return guarded([&] { port->port.start(); });
}

int64_t orrery_port_clock(const orrery_port* port) { return orrery::count_ps(port->port.clock()); }

int orrery_port_advance(orrery_port* port, int64_t picoseconds) {
  return guarded([&] { port->port.advance(Duration{picoseconds}); });
}

int orrery_port_call(orrery_port* port, uint32_t operation, const int64_t* arguments, size_t count,
                     int64_t* answer) {
  return guarded([&] {
    if (count > Call::kArguments) throw std::invalid_argument{"too many arguments"};
    Call call{.operation = operation, .arguments = {}};
    std::copy_n(arguments, count, call.arguments.begin());
    const std::int64_t value = port->port.call(call);
    if (answer != nullptr) *answer = value;
  });
}

int orrery_port_finish(orrery_port* port) {
  return guarded([&] { port->port.finish(); });
}
