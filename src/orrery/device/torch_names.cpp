// SPDX-License-Identifier: Apache-2.0
#include "orrery/device/torch_names.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace orrery::device {
namespace {

using Class = OperatorClass;
using Rule = WorkRule;

constexpr std::array kSpecial{
    TorchName{"mm", Class::kGemm, Rule::kProduct, "gemm"},
    TorchName{"mv", Class::kGemm, Rule::kProduct, "gemm"},
    TorchName{"dot", Class::kGemm, Rule::kProduct, "gemm"},
    TorchName{"bmm", Class::kGemm, Rule::kProduct, "gemm"},
    TorchName{"_int_mm", Class::kGemm, Rule::kProduct, "gemm"},
    TorchName{"_scaled_mm", Class::kGemm, Rule::kProduct, "gemm"},
    TorchName{"addmm", Class::kGemm, Rule::kProductOn, "gemm"},
    TorchName{"addmv", Class::kGemm, Rule::kProductOn, "gemm"},
    TorchName{"baddbmm", Class::kGemm, Rule::kProductOn, "gemm"},
    TorchName{"_addmm_activation", Class::kGemm, Rule::kProductOn, "gemm"},
    TorchName{"convolution", Class::kConvolution, Rule::kConvolution, "conv"},
    TorchName{"convolution_overrideable", Class::kConvolution, Rule::kConvolution, "conv"},
    TorchName{"mkldnn_convolution", Class::kConvolution, Rule::kConvolution, "conv"},
    TorchName{"convolution_backward", Class::kConvolution, Rule::kConvolutionBackward, "conv_backward"},
    TorchName{"embedding", Class::kEmbedding, Rule::kGather},
    TorchName{"index_select", Class::kEmbedding, Rule::kGather},
    TorchName{"index", Class::kEmbedding, Rule::kGather},
    TorchName{"gather", Class::kEmbedding, Rule::kGather},
    TorchName{"take", Class::kEmbedding, Rule::kGather},
    TorchName{"index_put", Class::kEmbedding, Rule::kScatter},
    TorchName{"_index_put_impl", Class::kEmbedding, Rule::kScatter},
    TorchName{"index_add", Class::kEmbedding, Rule::kScatter},
    TorchName{"index_copy", Class::kEmbedding, Rule::kScatter},
    TorchName{"scatter", Class::kEmbedding, Rule::kScatter},
    TorchName{"scatter_add", Class::kEmbedding, Rule::kScatter},
    TorchName{"scatter_reduce", Class::kEmbedding, Rule::kScatter},
    TorchName{"embedding_dense_backward", Class::kEmbedding, Rule::kStream},
    TorchName{"native_layer_norm", Class::kReduction, Rule::kStream, "layer_norm"},
    TorchName{"native_layer_norm_backward", Class::kReduction, Rule::kStream, "layer_norm_backward"},
    TorchName{"_fused_rms_norm", Class::kReduction, Rule::kStream, "rms_norm"},
    TorchName{"_fused_rms_norm_backward", Class::kReduction, Rule::kStream, "rms_norm_backward"},
    TorchName{"_softmax", Class::kReduction, Rule::kStream, "softmax"},
    TorchName{"_log_softmax", Class::kReduction, Rule::kStream, "softmax"},
    TorchName{"_softmax_backward_data", Class::kReduction, Rule::kStream, "softmax_backward"},
    TorchName{"_log_softmax_backward_data", Class::kReduction, Rule::kStream, "softmax_backward"},
    TorchName{"copy", Class::kMemory, Rule::kOverwrite},
    TorchName{"fill", Class::kMemory, Rule::kOverwrite},
    TorchName{"zero", Class::kMemory, Rule::kOverwrite, "fill"},
    TorchName{"uniform", Class::kMemory, Rule::kOverwrite, "random"},
    TorchName{"normal", Class::kMemory, Rule::kOverwrite, "random"},
    TorchName{"random", Class::kMemory, Rule::kOverwrite, "random"},
    TorchName{"bernoulli", Class::kMemory, Rule::kOverwrite, "random"},
    TorchName{"exponential", Class::kMemory, Rule::kOverwrite, "random"},
    TorchName{"clone", Class::kMemory, Rule::kStream, "copy"},
    TorchName{"_to_copy", Class::kMemory, Rule::kStream, "copy"},
};

/// Nothing but a dispatch.
constexpr std::string_view kViewNames =
    "view _unsafe_view _reshape_alias t transpose permute expand select slice squeeze unsqueeze split "
    "split_with_sizes unbind narrow as_strided detach alias diagonal unfold view_as_real view_as_complex "
    "_conj _neg_view resolve_conj resolve_neg empty empty_like empty_strided new_empty new_empty_strided "
    "resize resize_as set lift_fresh lift is_same_size is_pinned _is_pinned pin_memory _pin_memory "
    "record_stream result_type can_cast _has_compatible_shallow_copy_type is_set_to "
    "_debug_has_internal_overlap size stride numel dim sym_size sym_stride sym_numel sym_storage_offset "
    "storage_offset is_contiguous _version requires_grad retain_grad _fw_primal _make_dual _unpack_dual "
    "_nested_tensor_size values indices crow_indices col_indices _values _indices "
    "profiler::_record_function_enter_new profiler::_record_function_exit _unsafe_split "
    "_assert_tensor_metadata";

/// The host must know a value.
constexpr std::string_view kWaitNames =
    "_local_scalar_dense equal nonzero masked_select _unique2 unique_dim bincount";

constexpr std::string_view kElementwiseNames =
    "add sub rsub mul div neg abs exp exp2 expm1 log log2 log1p sqrt rsqrt pow sigmoid tanh relu gelu silu "
    "mish leaky_relu elu hardtanh hardswish hardsigmoid softplus clamp clamp_min clamp_max where masked_fill "
    "maximum minimum fmax fmin eq ne lt le gt ge logical_and logical_or logical_not logical_xor bitwise_and "
    "bitwise_or bitwise_not bitwise_xor sin cos tan erf erfinv reciprocal square addcmul addcdiv lerp sign "
    "floor ceil round trunc remainder fmod floor_divide isnan isinf isfinite nan_to_num xlogy atan2 sgn "
    "polar real imag complex view_as threshold_backward gelu_backward silu_backward sigmoid_backward "
    "tanh_backward leaky_relu_backward elu_backward hardtanh_backward softplus_backward native_dropout "
    "native_dropout_backward mse_loss mse_loss_backward huber_loss binary_cross_entropy glu glu_backward";

constexpr std::string_view kReductionNames =
    "sum mean prod amax amin max min aminmax argmax argmin any all norm linalg_vector_norm var std var_mean "
    "std_mean logsumexp cumsum cumprod topk sort argsort kthvalue median nll_loss_forward nll_loss_backward "
    "nll_loss2d_forward nll_loss2d_backward native_batch_norm native_batch_norm_backward native_group_norm "
    "native_group_norm_backward avg_pool2d max_pool2d_with_indices _adaptive_avg_pool2d multinomial";

constexpr std::string_view kCopyNames =
    "cat stack repeat roll flip tril triu constant_pad_nd ones zeros full ones_like zeros_like full_like "
    "new_zeros new_ones new_full rand randn randint rand_like randn_like randperm arange linspace eye "
    "scalar_tensor slice_backward select_backward slice_scatter select_scatter as_strided_scatter "
    "diagonal_backward unfold_backward repeat_interleave one_hot contiguous _foreach_copy";

std::vector<TorchName> sorted_names() {
  std::vector<TorchName> names{kSpecial.begin(), kSpecial.end()};
  const auto add = [&](std::string_view list, Class kind, Rule rule) {
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(' '), list.size());
      names.push_back({.name = list.substr(0, end), .kind = kind, .rule = rule});
      list.remove_prefix(std::min(end + 1, list.size()));
    }
  };
  add(kViewNames, Class::kView, Rule::kNothing);
  add(kWaitNames, Class::kWait, Rule::kNothing);
  add(kElementwiseNames, Class::kElementwise, Rule::kStream);
  add(kReductionNames, Class::kReduction, Rule::kStream);
  add(kCopyNames, Class::kMemory, Rule::kStream);
  std::ranges::sort(names, {}, &TorchName::name);
  return names;
}

constexpr TorchName kAttentionName{"attention", Class::kAttention, Rule::kAttention};
constexpr std::string_view kAttentionCall = "scaled_dot_product_attention";
constexpr TorchName kForeachName{"foreach", Class::kOptimizer, Rule::kList};
constexpr TorchName kFusedName{"fused", Class::kOptimizer, Rule::kFusedStep};

}  // namespace

std::string_view plain_name(std::string_view name) {
  constexpr std::string_view kSpace = "aten::";
  if (name.starts_with(kSpace)) name.remove_prefix(kSpace.size());
  if (name.size() > 1 && name.ends_with('_')) name.remove_suffix(1);
  return name;
}

bool is_fused_kernel(std::string_view name) {
  const std::string_view plain = plain_name(name);
  return plain == kAttentionCall || plain == "_fused_rms_norm";
}

const TorchName* find_torch_name(std::string_view name) {
  static const std::vector<TorchName> kNames = sorted_names();
  const std::string_view plain = plain_name(name);
  const auto found = std::ranges::lower_bound(kNames, plain, {}, &TorchName::name);
  if (found != kNames.end() && found->name == plain) return &*found;
  if (plain.starts_with("_foreach_") || plain.starts_with("_amp_foreach_")) return &kForeachName;
  if (plain.starts_with("_fused_adam") || plain.starts_with("_fused_sgd") ||
      plain.starts_with("_fused_adagrad")) {
    return &kFusedName;
  }
  const bool is_attention = plain.starts_with("_scaled_dot_product_") || plain == kAttentionCall;
  if (is_attention && plain.find("_math") == std::string_view::npos) return &kAttentionName;
  return nullptr;
}

}  // namespace orrery::device
