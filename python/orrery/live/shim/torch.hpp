// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Everything of torch that the shim uses. Not torch/extension.h: it doubles the time of the compiler. Compiles with
/// torch 2.9 to 2.15; virtual functions that only some of them have are written without `override`.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace orrery::live::shim {

namespace py = pybind11;
using Tensors = std::vector<at::Tensor>;
using Milliseconds = std::chrono::milliseconds;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

}  // namespace orrery::live::shim
