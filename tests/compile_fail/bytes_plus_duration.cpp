// SPDX-License-Identifier: Apache-2.0
// Bytes and time do not mix.
// EXPECT: no match for .operator\+.|invalid operands
#include "orrery/base/units.hpp"

using namespace orrery;
#ifdef ORRERY_MISUSE
Bytes sum(Bytes a, Duration b) { return a + b; }
#else
Bytes sum(Bytes a, Bytes b) { return a + b; }
#endif
