// SPDX-License-Identifier: Apache-2.0
// The simulated clock has no now(): only the engine knows the time.
// EXPECT: now
#include "orrery/base/units.hpp"

using namespace orrery;
#ifdef ORRERY_MISUSE
Time zero() { return SimClock::now(); }
#else
Time zero() { return Time{}; }
#endif
