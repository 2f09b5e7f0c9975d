// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whether the clock is being read for a lock of Python's.
///
/// Python computes a deadline for every lock it takes, also for those that wait for ever, and imports take thousands.
/// Such a look is none of the program's: were it a point, the time of an import would fall to pieces that have
/// nothing in common from run to run.
namespace orrery::live {

/// `frame` is that of the interposed function: __builtin_frame_address(0). Exact, by unwinding each place from
/// which the clock is read once; cheap afterwards.
[[nodiscard]] bool is_for_python_lock(const void* frame);

}  // namespace orrery::live
