// SPDX-License-Identifier: Apache-2.0
// A span is not a point in time.
// EXPECT: conver|no viable
#include "orrery/base/units.hpp"

using namespace orrery;
#ifdef ORRERY_MISUSE
Time start(Duration d) { return d; }
#else
Time start(Duration d) { return Time{d}; }
#endif
