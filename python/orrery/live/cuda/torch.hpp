// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Everything of torch that the simulated CUDA devices use, and of the rank library.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>

#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>
#include <utility>
#include <vector>

#include "orrery_rank.h"

namespace orrery::live::cuda {

namespace py = pybind11;

}  // namespace orrery::live::cuda
