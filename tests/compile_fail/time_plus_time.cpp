// SPDX-License-Identifier: Apache-2.0
// Two points in time cannot be added; a point and a span can.
// EXPECT: no match for .operator\+.|invalid operands
#include "orrery/base/units.hpp"

using namespace orrery;
#ifdef ORRERY_MISUSE
Time later(Time a, Time b) { return a + b; }
#else
Time later(Time a, Duration b) { return a + b; }
#endif
