// SPDX-License-Identifier: Apache-2.0
#include "orrery/device/torch_operator.hpp"

#include <algorithm>
#include <array>

#include "orrery/device/families.hpp"
#include "orrery/device/torch_names.hpp"

namespace orrery::device {
namespace {

using Shapes = std::span<const TensorShape>;

double bytes_of(const TensorShape& shape) {
  return static_cast<double>(shape.distinct) * static_cast<double>(shape.element);
}

double bytes_of(Shapes shapes) {
  double sum = 0;
  for (const TensorShape& shape : shapes) sum += bytes_of(shape);
  return sum;
}

std::int64_t size_at(const TensorShape& shape, std::size_t from_end) {
  return from_end < shape.sizes.size() ? shape.sizes[shape.sizes.size() - 1 - from_end] : 1;
}

std::int64_t elements_of(Shapes shapes) {
  std::int64_t sum = 0;
  for (const TensorShape& shape : shapes) sum += device::elements_of(shape);
  return sum;
}

DataType type_of(const TensorShape& shape) {
  constexpr std::uint32_t kHalf = 5;
  constexpr std::uint32_t kDouble = 7;
  constexpr std::uint32_t kBfloat16 = 15;
  constexpr std::uint32_t kFirstFp8 = 23;
  constexpr std::uint32_t kLastFp8 = 26;
  if (shape.type == kHalf) return DataType::kFp16;
  if (shape.type == kDouble) return DataType::kFp64;
  if (shape.type == kBfloat16) return DataType::kBf16;
  if (shape.type >= kFirstFp8 && shape.type <= kLastFp8) return DataType::kFp8;
  if (shape.type <= 1) return DataType::kInt8;
  return DataType::kFp32;  // Other integers and complex numbers, for want of a rate of their own.
}

void set_axes(Operator& op, std::initializer_list<std::int64_t> sizes) {
  op.axes = {};
  for (const std::int64_t size : sizes) op.axes.sizes[op.axes.count++] = size;
}

/// The product of `a` (.., m, k) and `b` (.., k, n); a vector is a matrix of one row or column.
void set_product(Operator& op, const TensorShape& a, const TensorShape& b, bool allows_tf32) {
  const bool is_vector = a.sizes.size() < 2;
  const std::int64_t m = is_vector ? 1 : size_at(a, 1);
  const std::int64_t k = size_at(a, 0);
  const std::int64_t n = b.sizes.size() < 2 ? 1 : size_at(b, 0);
  const std::int64_t batch = m * k == 0 ? 0 : device::elements_of(a) / (m * k);
  op.type = type_of(a);
  if (op.type == DataType::kFp32 && allows_tf32) op.type = DataType::kTf32;
  // Libraries have other kernels for other layouts. A table need not tell them apart.
  if (!a.is_dense) op.family = "gemm@tn";
  if (a.is_dense && b.is_dense) op.family = "gemm@nn";
  set_axes(op, {batch, m, n, k});
  op.work = gemm_work(op.axes, op.type);
}

/// Queries (batch, heads, length, width) and keys likewise.
void set_attention(Operator& op, const TorchCall& call) {
  constexpr std::array<std::string_view, 4> kFamilies{"attention", "attention_causal", "attention_backward",
                                                      "attention_causal_backward"};
  const bool is_backward = op.name.ends_with("_backward");
  const std::size_t first = is_backward ? 1 : 0;
  if (call.inputs.size() < first + 2) return;
  const TensorShape& query = call.inputs[first];
  const TensorShape& key = call.inputs[first + 1];
  op.family = kFamilies[(is_backward ? 2U : 0U) + (call.flag ? 1U : 0U)];
  op.type = type_of(query);
  const std::int64_t batch = query.sizes.size() < 4 ? 1 : size_at(query, 3);
  set_axes(
      op, {batch, size_at(query, 2), size_at(key, 2), size_at(query, 1), size_at(key, 1), size_at(query, 0)});
  op.work = attention_work(op.axes, op.type, call.flag, is_backward);
}

/// Each result takes a product with one filter; of transposed ones, each input does.
void set_convolution(Operator& op, const TorchCall& call, bool is_backward) {
  const std::size_t first = is_backward ? 1 : 0;
  if (call.inputs.size() < first + 2 || call.outputs.empty()) return;
  const TensorShape& input = call.inputs[first];
  const TensorShape& weight = call.inputs[first + 1];
  const TensorShape& output = is_backward ? call.inputs[0] : call.outputs[0];
  const std::int64_t filters = weight.sizes.empty() ? 1 : std::max<std::int64_t>(weight.sizes.front(), 1);
  const double per_filter = static_cast<double>(device::elements_of(weight)) / static_cast<double>(filters);
  const double places = static_cast<double>(device::elements_of(call.flag ? input : output));
  // Backward has one such product for the gradient of the input and one for that of the filters.
  op.type = type_of(input);
  op.work = {.flops = (is_backward ? 4 : 2) * places * per_filter,
             .bytes = bytes_of(call.inputs) + bytes_of(call.outputs)};
  set_axes(op, {static_cast<std::int64_t>(places), static_cast<std::int64_t>(per_filter)});
}

void set_list(Operator& op, const TorchCall& call, bool is_step) {
  double read = 0;
  double written = bytes_of(call.outputs);
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  for (const TensorShape& shape : call.inputs) {
    read += bytes_of(shape);
    // A step writes parameters and states but not the gradients, which come second.
    const bool is_written = is_step ? shape.argument != 1 : shape.argument == 0 && call.outputs.empty();
    if (is_written) written += bytes_of(shape);
    if (shape.argument != 0) continue;
    ++tensors;
    elements += device::elements_of(shape);
  }
  op.work.bytes = read + written;
  op.launches = std::max<std::int64_t>(tensors, 1);
  op.family = op.name;
  set_axes(op, {tensors, elements});
}

/// Rows and columns for what works on rows, else elements.
void set_stream_axes(Operator& op, const TorchCall& call) {
  const Shapes largest = elements_of(call.outputs) >= elements_of(call.inputs.first(!call.inputs.empty()))
                             ? call.outputs.first(!call.outputs.empty())
                             : call.inputs.first(1);
  const std::int64_t elements = elements_of(largest);
  const bool has_rows = op.family.find("norm") != std::string_view::npos || op.family.starts_with("softmax");
  if (!has_rows || call.inputs.empty()) return set_axes(op, {elements});
  const std::int64_t columns = std::max<std::int64_t>(size_at(call.inputs[0], 0), 1);
  set_axes(op, {elements_of(call.inputs.first(1)) / columns, columns});
}

void set_stream(Operator& op, const TorchCall& call, WorkRule rule) {
  Shapes read = call.inputs;
  double written = bytes_of(call.outputs);
  const bool skips_first =
      rule == WorkRule::kOverwrite || rule == WorkRule::kGather || rule == WorkRule::kScatter;
  if (skips_first && !read.empty()) read = read.subspan(1);
  double moved = bytes_of(read);
  if (rule == WorkRule::kGather) moved += written;
  if (rule == WorkRule::kScatter) written = read.empty() ? 0 : bytes_of(read.back());
  op.work.bytes = moved + written;
  op.output_bytes = written;
  if (!call.outputs.empty()) op.type = type_of(call.outputs[0]);
  set_stream_axes(op, call);
  const bool is_copy = op.family == "copy" && !call.inputs.empty();
  if (is_copy && !std::ranges::all_of(call.inputs, &TensorShape::is_dense)) op.family = "copy_strided";
}

}  // namespace

std::int64_t elements_of(const TensorShape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape.sizes) product *= size;
  return product;
}

Operator classify(const TorchCall& call) {
  const TorchName* const known = find_torch_name(call.name);
  Operator op;
  op.name = plain_name(call.name);
  op.family = known == nullptr || known->family.empty() ? op.name : known->family;
  op.kind = known == nullptr ? OperatorClass::kOther : known->kind;
  op.is_known = known != nullptr;
  if (!call.inputs.empty()) op.type = type_of(call.inputs[0]);
  const WorkRule rule = known == nullptr ? WorkRule::kStream : known->rule;
  const std::size_t first = rule == WorkRule::kProductOn ? 1 : 0;
  switch (rule) {
    case WorkRule::kNothing:
      return op;
    case WorkRule::kProduct:
    case WorkRule::kProductOn:
      if (call.inputs.size() >= first + 2) {
        set_product(op, call.inputs[first], call.inputs[first + 1], call.allows_tf32);
      }
      return op;
    case WorkRule::kAttention:
      set_attention(op, call);
      return op;
    case WorkRule::kConvolution:
    case WorkRule::kConvolutionBackward:
      set_convolution(op, call, rule == WorkRule::kConvolutionBackward);
      return op;
    case WorkRule::kList:
    case WorkRule::kFusedStep:
      set_list(op, call, rule == WorkRule::kFusedStep);
      return op;
    default:
      set_stream(op, call, rule);
      return op;
  }
}

}  // namespace orrery::device
