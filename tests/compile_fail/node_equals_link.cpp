// SPDX-License-Identifier: Apache-2.0
// Ids of different things cannot be compared.
// EXPECT: no match for .operator==.|invalid operands
#include "orrery/topology/graph.hpp"

using namespace orrery::topology;
#ifdef ORRERY_MISUSE
bool is_same(NodeId a, LinkId b) { return a == b; }
#else
bool is_same(NodeId a, NodeId b) { return a == b; }
#endif
