// SPDX-License-Identifier: Apache-2.0
// A bare number is no duration: its unit must be named.
// EXPECT: conversion|convert|no viable
#include "orrery/base/units.hpp"

using namespace orrery;
#ifdef ORRERY_MISUSE
Duration wait() { return 5; }
#else
Duration wait() { return picoseconds(5); }
#endif
