// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/external_threads.hpp"

#include <exception>

namespace orrery::engine {

ExternalThreads::~ExternalThreads() {
  host_.close();
  for (std::thread& thread : threads_) thread.join();
}

void ExternalThreads::start(ProcessId process, ExternalBody body) {
  threads_.emplace_back([&host = host_, process, slot = host_.slot(process), body = std::move(body)] {
    try {
      ExternalPort port{host.region(), slot};
      port.start();
      body(port);
      port.finish();
    } catch (const PortClosed&) {
      // The run is over; so are we.
    } catch (const std::exception& error) {
      host.mark_dead(process, error.what());
    } catch (...) {
      host.mark_dead(process, "an exception of unknown type");
    }
  });
}

}  // namespace orrery::engine
