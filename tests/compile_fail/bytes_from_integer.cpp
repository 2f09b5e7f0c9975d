// SPDX-License-Identifier: Apache-2.0
// A size is made explicitly.
// EXPECT: conver|no viable
#include "orrery/base/units.hpp"

using namespace orrery;
#ifdef ORRERY_MISUSE
Bytes size() { return 4096; }
#else
Bytes size() { return Bytes{4096}; }
#endif
