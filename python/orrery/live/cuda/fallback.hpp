// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Every operator on tensors of a simulated device that has no kernel of its own here: the CPU's does it, on twins.
#include "hooks.hpp"
#include "twins.hpp"

namespace orrery::live::cuda {

using torch::jit::Stack;

/// The host waits for the present stream: it is about to see a value.
inline void wait_for_stream() {
  const Guard guard;
  guard.synchronizeStream(guard.getStream(guard.getDevice()));
}

[[noreturn]] inline void refuse_values(const std::string& what) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "orrery --compute fake: ", what,
                              " needs values, and tensors have none in this run");
}

/// Operators that take tensors of the CPU beside those of the device, as CUDA's do.
inline bool may_mix(const std::string& name) {
  for (const char* known :
       {"aten::index", "aten::_index", "aten::index_put", "aten::copy", "aten::_copy", "aten::_pack_padded",
        "aten::set_", "aten::_cudnn", "aten::ctc_loss", "aten::_ctc_loss", "aten::_embedding_bag",
        "aten::repeat_interleave", "aten::_weight_norm"}) {
    if (name.rfind(known, 0) == 0) return true;
  }
  return false;
}

/// One call: arguments to the host, results to the device.
class Redirection {
 public:
  Redirection(const c10::OperatorHandle& op, Stack& stack) : op_{op}, schema_{op.schema()}, stack_{stack} {}

  void run() {
    const auto& arguments = schema_.arguments();
    const std::size_t first = stack_.size() - arguments.size();
    for (std::size_t i = 0; i < arguments.size(); ++i) take(stack_[first + i], arguments[i]);
    TORCH_CHECK_NOT_IMPLEMENTED(op_.hasComputedKernelForDispatchKey(Twins::key()),
                                is_fake ? "orrery --compute fake: " : "orrery --device-map cuda=cpu: ",
                                schema_.name(), " has no implementation for ",
                                is_fake ? "tensors without data" : "the CPU", ", so it is not simulated");
    orrery_queue_work();
    const bool waits = must_wait();
    if (waits && is_fake) refuse_values(schema_.name());
    if (waits) wait_for_stream();
    {
      const c10::impl::ExcludeDispatchKeyGuard below_autocast{c10::autocast_dispatch_keyset};
      const Kernel kernel;  // One operator of the device, whatever the CPU makes of it.
      op_.redispatchBoxed(c10::DispatchKeySet{Twins::key()}, &stack_);
    }
    const bool is_recorded = twins_.is_recorded();
    const PartScope scope{is_recorded ? Part::kActivation : present_part};
    if (is_recorded) twins_.mark_graph();
    twins_.settle();
    const std::size_t results = schema_.returns().size();
    for (std::size_t i = stack_.size() - results; i < stack_.size(); ++i) give(stack_[i]);
  }

 private:
  void take(c10::IValue& value, const c10::Argument& argument) {
    const bool is_written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    if (value.isTensor()) {
      if (const at::Tensor& tensor = value.toTensor(); tensor.defined()) value = take(tensor, is_written);
    } else if (value.isTensorList()) {
      std::vector<at::Tensor> tensors = value.toTensorVector();
      for (at::Tensor& tensor : tensors) tensor = take(tensor, is_written);
      value = std::move(tensors);
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> tensors;
      for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
        tensors.push_back(tensor ? std::optional{take(*tensor, is_written)} : std::nullopt);
      }
      value = std::move(tensors);
    } else if (value.isDevice() && value.toDevice().is_cuda()) {
      twins_.set_device(checked(value.toDevice().index()));
      value = c10::Device{c10::kCPU};
    } else if (argument.name() == "generator") {
      take_generator(value);
    }
  }

  at::Tensor take(const at::Tensor& tensor, bool is_written) {
    if (!tensor.defined()) return tensor;
    if (!tensor.is_cuda()) {
      TORCH_CHECK(tensor.dim() == 0 || !tensor.is_cpu() || may_mix(schema_.name()),
                  "Expected all tensors to be on the same device, but found at least two devices, cuda:",
                  static_cast<int>(twins_.device()), " and cpu! (when checking arguments of ", schema_.name(),
                  ")");
      return is_fake && tensor.dim() > 0 ? Twins::shape_of(tensor) : tensor;
    }
    TORCH_CHECK(twins_.is_empty() || tensor.device().index() == twins_.device() || may_mix(schema_.name()),
                "Expected all tensors to be on the same device, but found at least two devices, cuda:",
                static_cast<int>(twins_.device()), " and cuda:", static_cast<int>(tensor.device().index()),
                "! (when checking arguments of ", schema_.name(), ")");
    return twins_.to_host(tensor, is_written);
  }

  void take_generator(c10::IValue& value) {
    const at::Generator chosen =
        value.isGenerator() ? value.toGenerator() : default_generator(twins_.device());
    if (!chosen.defined() || chosen.device().is_cpu()) return;
    value = static_cast<const Generator*>(chosen.unsafeGetGeneratorImpl())->host();
  }

  void give(c10::IValue& value) {
    if (value.isTensor()) {
      value = twins_.to_device(value.toTensor());
    } else if (value.isTensorList()) {
      std::vector<at::Tensor> tensors = value.toTensorVector();
      for (at::Tensor& tensor : tensors) tensor = twins_.to_device(tensor);
      value = std::move(tensors);
    }
  }

  /// Whether the host looks at values: a result that is no tensor, or a shape that depends on them.
  [[nodiscard]] bool must_wait() const {
    if (op_.hasTag(at::Tag::data_dependent_output) || op_.hasTag(at::Tag::dynamic_output_shape)) return true;
    return false;
  }

  const c10::OperatorHandle& op_;
  const c10::FunctionSchema& schema_;
  Stack& stack_;
  Twins twins_;
};

inline void redirect(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, Stack* stack) {
  Redirection{op, *stack}.run();
}

}  // namespace orrery::live::cuda
