// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells the rank library what operators of torch ran on what shapes, for the model of a device. Of operators that call
/// others, those count that a device has kernels for: what torch's dispatcher does not put together from others
/// (CompositeImplicitAutograd). What kernels call here is not seen: another device's would not.
///
/// Wrappers of tensors (DTensor) are looked into. Tensors without memory (device "meta", and FakeTensors unless the
/// program runs on those as a whole) cost nothing: libraries use them to find out shapes.
#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <string_view>
#include <unordered_map>

#include "rank.hpp"

namespace orrery::live::shim {

/// The operator that runs, as it is read.
struct ObservedCall {
  std::vector<orrery_tensor> tensors;
  std::vector<std::int64_t> sizes;  // Of all of them; pointers are set when it grows no more.
  bool flag = false;
  bool has_flag = false;

  void clear() {
    tensors.clear();
    sizes.clear();
    flag = has_flag = false;
  }
};

class CostObserver {
 public:
  /// The calling thread is the program's. `is_fake`: the program runs on FakeTensors.
  static void start(bool is_fake) {
    is_fake_run_ = is_fake;
    is_observed_ = true;
    at::addGlobalCallback(at::RecordFunctionCallback{begin, end}.needsInputs(true).needsOutputs(true).scopes(
        {at::RecordScope::FUNCTION}));
  }

 private:
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (!is_observed_ || ++depth_ == 0 || kernel_depth_ > 0 || Pause::is_on()) return nullptr;
    if (is_composite(function)) return nullptr;
    ObservedCall& call = call_;
    call.clear();
    if (!read_inputs(function, call)) return nullptr;
    kernel_depth_ = depth_;
    return nullptr;
  }

  static void end(const at::RecordFunction& function, at::ObserverContext* /*context*/) {
    if (!is_observed_ || depth_ == 0) return;
    if (depth_-- != kernel_depth_) return;
    kernel_depth_ = 0;
    ObservedCall& call = call_;
    const std::size_t inputs = call.tensors.size();
    bool is_real = true;
    for (const c10::IValue& output : function.outputs()) is_real = read(output, 0, call) && is_real;
    if (!is_real) return;
    std::int64_t* sizes = call.sizes.data();
    for (orrery_tensor& tensor : call.tensors) {
      tensor.sizes = sizes;
      sizes += tensor.dims;
    }
    const orrery_operator op{.name = function.name(),
                             .inputs = call.tensors.data(),
                             .input_count = inputs,
                             .outputs = call.tensors.data() + inputs,
                             .output_count = call.tensors.size() - inputs,
                             .flag = call.flag ? 1U : 0U,
                             .allows_tf32 = allows_tf32() ? 1U : 0U};
    orrery_operator_ran(&op);
  }

  /// Whether others do its work: torch is asked once. Names of operators live for ever; those of autograd's nodes and
  /// of the program's own marks, which are no operators, may not.
  static bool is_composite(const at::RecordFunction& function) {
    const char* const name = function.name();
    if (const auto found = composites_.find(name); found != composites_.end()) return found->second;
    const auto full = function.operator_name();
    const auto handle = full ? c10::Dispatcher::singleton().findSchema(*full) : std::nullopt;
    if (!handle) return true;
    const std::string_view text{name};
    // Collectives: the network's, not the device's. What they copy is theirs.
    bool is_one = text.starts_with("c10d::") || text.starts_with("_c10d_functional::");
    is_one = is_one || (handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
                        orrery_is_kernel(name) == 0);
    composites_.emplace(name, is_one);
    return is_one;
  }

  /// False when it is no work, or the work is within.
  static bool read_inputs(const at::RecordFunction& function, ObservedCall& call) {
    std::uint32_t argument = 0;
    for (const c10::IValue& input : function.inputs()) {
      if (!read(input, argument++, call)) return false;
    }
    return true;
  }

  static bool read(const c10::IValue& value, std::uint32_t argument, ObservedCall& call) {
    if (value.isTensor()) return read(value.toTensor(), argument, call);
    if (value.isBool() && !call.has_flag) {
      call.has_flag = true;
      call.flag = value.toBool();
    }
    if (!value.isList()) return true;
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isTensor() && !read(item.toTensor(), argument, call)) return false;
    }
    return true;
  }

  static bool read(const at::Tensor& tensor, std::uint32_t argument, ObservedCall& call) {
    if (!tensor.defined() || tensor.layout() != at::kStrided) return true;
    const c10::TensorImpl& implementation = *tensor.unsafeGetTensorImpl();
    if (implementation.is_wrapped_number()) return true;  // The 1 of "x + 1": no memory.
    const bool is_wrapped = implementation.key_set().has(c10::DispatchKey::Python);
    const bool is_empty = has_no_memory(implementation);
    if (is_wrapped ? !(is_empty && is_fake_run_) : is_empty) return false;
    orrery_tensor one{};
    one.dims = static_cast<std::uint32_t>(tensor.dim());
    one.dtype = static_cast<std::uint32_t>(tensor.scalar_type());
    one.element = static_cast<std::uint32_t>(tensor.element_size());
    one.argument = argument;
    one.distinct = 1;
    one.is_dense = tensor.is_contiguous() ? 1 : 0;
    const c10::IntArrayRef strides = tensor.strides();
    for (std::size_t i = 0; i < one.dims; ++i) {
      const std::int64_t size = tensor.sizes()[i];
      call.sizes.push_back(size);
      if (strides[i] != 0 || size == 0) one.distinct *= size;
    }
    call.tensors.push_back(one);
    return true;
  }

  static bool has_no_memory(const c10::TensorImpl& implementation) {
    return implementation.has_storage() &&
           implementation.unsafe_storage().device_type() == c10::DeviceType::Meta;
  }

  static bool allows_tf32() {
    return at::globalContext().float32MatmulPrecision() != at::Float32MatmulPrecision::HIGHEST;
  }

  static inline bool is_fake_run_ = false;
  static inline thread_local bool is_observed_ = false;
  static inline thread_local int depth_ = 0;
  static inline thread_local int kernel_depth_ = 0;  // Of the kernel that runs; 0 = none.
  static inline thread_local ObservedCall call_;
  static inline thread_local std::unordered_map<const char*, bool> composites_;
};

}  // namespace orrery::live::shim
