// SPDX-License-Identifier: Apache-2.0
// The problem of a temporary error would dangle.
// EXPECT: deleted
#include "orrery/base/error.hpp"

using namespace orrery;
#ifdef ORRERY_MISUSE
std::string field() { return InputError{"x"}.problem().field; }
#else
std::string field(const InputError& error) { return error.problem().field; }
#endif
