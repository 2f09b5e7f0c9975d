// SPDX-License-Identifier: Apache-2.0
// Floating point becomes a duration through ceil_to_duration() alone.
// EXPECT: no matching function|no matching conversion|no matching constructor
#include "orrery/base/units.hpp"

using namespace orrery;
#ifdef ORRERY_MISUSE
Duration wait(double ps) { return Duration{ps}; }
#else
Duration wait(double ps) { return ceil_to_duration(ps); }
#endif
