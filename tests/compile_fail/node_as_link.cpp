// SPDX-License-Identifier: Apache-2.0
// A node is not a link.
// EXPECT: conver|no viable|cannot bind
#include "orrery/topology/graph.hpp"

using namespace orrery::topology;
#ifdef ORRERY_MISUSE
LinkSpec spec(const Graph& graph, NodeId id) { return graph.link(id); }
#else
LinkSpec spec(const Graph& graph, LinkId id) { return graph.link(id); }
#endif
