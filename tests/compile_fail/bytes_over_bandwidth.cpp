// SPDX-License-Identifier: Apache-2.0
// Division must say how it rounds: transfer_time() does.
// EXPECT: no match for .operator/.|invalid operands
#include "orrery/base/units.hpp"

using namespace orrery;
#ifdef ORRERY_MISUSE
Duration send(Bytes n, Bandwidth rate) { return n / rate; }
#else
Duration send(Bytes n, Bandwidth rate) { return transfer_time(n, rate); }
#endif
