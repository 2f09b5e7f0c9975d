// SPDX-License-Identifier: Apache-2.0
// An id is made explicitly.
// EXPECT: conver|no viable
#include "orrery/topology/graph.hpp"

using namespace orrery::topology;
#ifdef ORRERY_MISUSE
NodeId first() { return std::uint32_t{0}; }
#else
NodeId first() { return NodeId{std::uint32_t{0}}; }
#endif
