// SPDX-License-Identifier: Apache-2.0
#include "orrery/network/network_model.hpp"

namespace orrery::network {

#define ORRERY_NETWORK_MODEL(name) NetworkRegistry::Entry name();
#include "orrery/network/models.def"
#undef ORRERY_NETWORK_MODEL

NetworkRegistry builtin_networks() {
  NetworkRegistry registry;
#define ORRERY_NETWORK_MODEL(name) registry.add(name());
#include "orrery/network/models.def"
#undef ORRERY_NETWORK_MODEL
  return registry;
}

}  // namespace orrery::network
