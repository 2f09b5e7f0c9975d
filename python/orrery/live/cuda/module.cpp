// SPDX-License-Identifier: Apache-2.0
// CUDA devices for a torch that has none: tensors, streams, events, memory and random numbers of device type "cuda",
// computed by the CPU, in the virtual time of the run.
#include "kernels.hpp"

namespace orrery::live::cuda {
namespace {

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&redirect>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", TORCH_FN(empty));
  library.impl("empty_strided", TORCH_FN(empty_strided));
  library.impl("copy_", TORCH_FN(copy));
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage));
  library.impl("set_.source_Storage", TORCH_FN(set_whole_storage));
  library.impl("set_.source_Tensor", TORCH_FN(set_tensor));
  library.impl("set_", TORCH_FN(set_nothing));
  library.impl("is_pinned", TORCH_FN(is_pinned));
  library.impl("record_stream", TORCH_FN(record_stream));
  library.impl("_fused_sdp_choice", TORCH_FN(attention_choice));
  // Composite operators that ask which device they are on: the CPU's way is the one there is.
  for (const char* name : {"convolution", "convolution_backward"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&redirect>());
  }
}

/// Every other operator that the CPU has a kernel for goes there at once. Otherwise torch would make the result of
/// many itself and ask for the form that writes into it, which for some is another computation.
[[maybe_unused]] const bool is_redirected = [] {
  static auto* library =
      new torch::Library{torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__};
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findOp(name);
    if (!op || name.name.rfind("aten::", 0) != 0 || !op->hasSchema()) continue;
    if (!op->hasKernelForDispatchKey(c10::DispatchKey::CPU) ||
        op->hasKernelForDispatchKey(c10::DispatchKey::CUDA)) {
      continue;
    }
    const std::string full =
        name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name);
    library->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&redirect>());
  }
  return true;
}();

C10_REGISTER_GUARD_IMPL(CUDA, Guard);

/// When this library is loaded, which is before torch is imported: torch asks for its hooks only once, on the way.
[[maybe_unused]] const bool is_registered = [] {
  at::CUDAHooksRegistry()->Register(
      "CUDAHooks", [](at::CUDAHooksArgs arguments) { return std::make_unique<Hooks>(arguments); }, "Orrery");
  c10d::TimerRegistry()->Register(
      c10::kCUDA, [](c10::Device device) { return std::make_unique<Timer>(device); }, "Orrery");
  return true;
}();

void define(py::module_& module) {
  module.def("is_installed", [] { return at::globalContext().hasCUDA(); });
  module.def("set_device_count", [](int count) { device_count = count; });
  module.def("set_memory_limit", [](std::int64_t bytes) { Memory::instance().set_limit(bytes); });
  module.def("set_engine_starting", [](bool is_starting) { is_engine_starting = is_starting; });
  module.def("set_fake", [] { is_fake = true; });
  module.def("keep_host_values", [](bool keeps) { keeps_host_values = keeps; });
  module.def("begin_queues", [] {
    orrery_queues_begin(is_fake ? 1 : 0);
    Memory::instance().set_page(orrery_memory_page());
  });
  module.def("get_device", [] { return static_cast<int>(this_device); });
  module.def("set_device",
             [](int device) { Guard{}.setDevice({c10::kCUDA, static_cast<DeviceIndex>(device)}); });
  module.def("synchronize", [] { Guard{}.synchronizeDevice(0); });
  module.def("elapsed_time", [](std::int64_t first, std::int64_t second) {
    return Guard{}.elapsedTime(reinterpret_cast<void*>(first), reinterpret_cast<void*>(second), 0);
  });
  module.def("default_generator",
             [](int device) { return default_generator(static_cast<DeviceIndex>(device)); });
  module.def("is_pinned", [](std::int64_t address) {
    return PinnedAllocator::instance().holds(reinterpret_cast<const void*>(address));
  });
  module.def("memory", [](int device) {
    const MemoryCount& count = Memory::instance().of(device);
    return std::vector<std::int64_t>{count.now, count.peak, count.reserved_peak, count.allocations,
                                     count.frees};
  });
  module.def("reset_peak", [](int device) {
    MemoryCount& count = Memory::instance().of(device);
    count.peak = count.now;
  });
  module.def("empty_cache", [] {
    for (int device = 0; device < kMostDevices; ++device) {
      MemoryCount& count = Memory::instance().of(device);
      count.reserved_peak = count.now;
    }
  });
  module.def("resize_storage",
             [](const at::Tensor& bytes, std::int64_t size) { resize_storage(bytes.storage(), size); });
}

/// What memory is for, as far as Python alone can tell (cuda_parts.py).
void define_parts(py::module_& module) {
  module.attr("OTHER") = static_cast<int>(Part::kOther);
  module.attr("ACTIVATION") = static_cast<int>(Part::kActivation);
  module.attr("OPTIMIZER") = static_cast<int>(Part::kOptimizer);
  module.attr("GRADIENT") = static_cast<int>(Part::kGradient);
  module.attr("PARAMETER") = static_cast<int>(Part::kParameter);
  module.def("mark", [](const std::vector<at::Tensor>& tensors, int part) {
    for (const at::Tensor& tensor : tensors) mark(tensor, static_cast<Part>(part));
  });
  module.def("set_part",
             [](int part) { return static_cast<int>(std::exchange(present_part, static_cast<Part>(part))); });
  module.def("set_collector", [](const py::function& collect) {
    auto* const kept = new py::function{collect};  // For as long as the process lives, as tensors do.
    Memory::instance().set_collector([kept] {
      const py::gil_scoped_acquire lock;
      (*kept)();
    });
  });
  module.def("pause", &orrery_pause);
  module.def("resume", &orrery_resume);
}

}  // namespace
}  // namespace orrery::live::cuda

PYBIND11_MODULE(orrery_cuda, module) {
  orrery::live::cuda::define(module);
  orrery::live::cuda::define_parts(module);
}
