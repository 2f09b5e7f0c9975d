// SPDX-License-Identifier: Apache-2.0
// A program of its own that talks to the engine through the C interface, run by process_reaper_test.cpp.
// usage: port_program DESCRIPTOR. Ends with the number of the step that went wrong, or 0.
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "orrery/engine/orrery_port.h"

namespace {

/// 0 when operation 0 adds five times, 100 ps apart.
int add_five_times(orrery_port* port) {
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::int64_t arguments[] = {i, 10};
    std::int64_t answer = 0;
    if (orrery_port_advance(port, 100) != 0) return 3;
    if (orrery_port_call(port, 0, arguments, 2, &answer) != 0) return 4;
    if (answer != i + 10) return 5;
  }
  return orrery_port_clock(port) == 500 ? 0 : 6;
}

}  // namespace

int main(int argc, char** argv) {
  int descriptor = -1;
  if (argc == 2) std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), descriptor);
  orrery_port* const port = orrery_port_open(descriptor, 0);
  if (port == nullptr) return 1;
  if (orrery_port_start(port) != 0) return 2;
  if (const int wrong = add_five_times(port); wrong != 0) return wrong;
  if (orrery_port_call(port, 0, nullptr, 7, nullptr) != -1 || errno != EINVAL) return 7;
  if (orrery_port_finish(port) != 0) return 8;
  if (orrery_port_finish(port) != -1) return 9;
  orrery_port_close(port);
  return 0;
}
