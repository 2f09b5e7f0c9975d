// SPDX-License-Identifier: Apache-2.0
// A duration is compared with a duration, not with a number.
// EXPECT: no match for .operator<.|invalid operands
#include "orrery/base/units.hpp"

using namespace orrery;
#ifdef ORRERY_MISUSE
bool is_short(Duration d) { return d < 5; }
#else
bool is_short(Duration d) { return d < picoseconds(5); }
#endif
