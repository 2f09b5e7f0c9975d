// SPDX-License-Identifier: Apache-2.0
// A bandwidth names bits or bytes: there is no constructor from a number.
// EXPECT: private
#include "orrery/base/units.hpp"

using namespace orrery;
#ifdef ORRERY_MISUSE
Bandwidth rate() { return Bandwidth{100}; }
#else
Bandwidth rate() { return Bandwidth::bits_per_second(100); }
#endif
