// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Everything of torch that the shim uses, and everything that differs between the versions of torch it is compiled
/// against (2.9 to 2.15). Not torch/extension.h: it doubles the time of the compiler.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#if __has_include(<torch/headeronly/version.h>)
#include <torch/headeronly/version.h>
#else
#include <torch/csrc/api/include/torch/version.h>
#endif

#include <vector>

namespace orrery::live::shim {

namespace py = pybind11;
using Tensors = std::vector<at::Tensor>;
using Milliseconds = std::chrono::milliseconds;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

}  // namespace orrery::live::shim
