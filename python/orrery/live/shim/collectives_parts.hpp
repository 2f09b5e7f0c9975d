// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collectives after which every member has a part of its own: reduce_scatter and all_to_all.
#include <numeric>

#include "backend.hpp"
#include "checks.hpp"
#include "memory.hpp"
#include "reduce.hpp"

namespace orrery::live::shim {

/// The input of every member is in the order of the members, so that each finds its part in one piece.
inline WorkPointer Backend::reduce_parts(const Call& call, const Tensors& outputs, const Tensors& inputs) {
  for (const at::Tensor& output : outputs) check_reduction(call.reduction.op_, output.scalar_type());
  const std::int64_t bytes = bytes_of(outputs);
  const auto take = [outputs, bytes, rank = rank_, count = members(),
                     reduction = call.reduction.op_](const orrery_op& op) {
    std::int64_t offset = bytes * rank;
    for (const at::Tensor& output : outputs) {
      const std::int64_t part = bytes_of(output);
      Target target{output};
      fold(reduction, output.scalar_type(), target.data(), payloads_of(op, count, offset, offset + part),
           part);
      target.finish();
      offset += part;
    }
  };
  return post(call, Sizes(members(), bytes), inputs, outputs, take);
}

inline WorkPointer Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::ReduceScatterOptions& options) {
  Checks{"reduce_scatter_tensor"}.times(input, output, size_,
                                        "input tensor must be the same size as output size times world size");
  return reduce_parts({.kind = ORRERY_REDUCE_SCATTER,
                       .name = "reduce_scatter_tensor",
                       .type = c10d::OpType::_REDUCE_SCATTER_BASE,
                       .timeout = options.timeout,
                       .is_async = options.asyncOp,
                       .reduction = options.reduceOp},
                      {output}, {input});
}

inline WorkPointer Backend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                            const c10d::ReduceScatterOptions& options) {
  const Checks checks{"reduce_scatter_tensor_coalesced"};
  checks.not_empty(inputs);
  checks.require(outputs.size() == inputs.size(),
                 "requires input/output tensor lists to have the same length");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    checks.times(inputs[i], outputs[i], size_,
                 "input tensor must be the same size as output size times world size");
  }
  Tensors payload = inputs;
  if (inputs.size() > 1) {
    const Pause pause;
    const at::AutoDispatchBelowADInplaceOrView guard;
    payload.clear();
    for (std::int64_t member = 0; member < size_; ++member) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::int64_t count = outputs[i].numel();
        payload.push_back(inputs[i].reshape({-1}).narrow(0, member * count, count));
      }
    }
  }
  return reduce_parts({.kind = ORRERY_REDUCE_SCATTER,
                       .name = "reduce_scatter_tensor",
                       .type = c10d::OpType::COALESCED,
                       .timeout = options.timeout,
                       .is_async = options.asyncOp,
                       .reduction = options.reduceOp},
                      outputs, payload);
}

/// Parts may differ in size.
inline WorkPointer Backend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                           const c10d::ReduceScatterOptions& options) {
  const Checks checks{"reduce_scatter"};
  const at::Tensor& output = checks.single(outputs, "output ");
  const Tensors& list = checks.list_of(inputs, size_, "input");
  checks.same_type(output, list);
  checks.same_size(output, list[static_cast<std::size_t>(rank_)], static_cast<std::size_t>(rank_));
  check_reduction(options.reduceOp.op_, output.scalar_type());
  Sizes sizes;
  for (const at::Tensor& input : list) sizes.push_back(bytes_of(input));
  const std::int64_t offset = std::accumulate(sizes.begin(), sizes.begin() + rank_, std::int64_t{0});
  const auto take = [output, offset, count = members(),
                     reduction = options.reduceOp.op_](const orrery_op& op) {
    const std::int64_t bytes = bytes_of(output);
    Target target{output};
    fold(reduction, output.scalar_type(), target.data(), payloads_of(op, count, offset, offset + bytes),
         bytes);
    target.finish();
  };
  return post({.kind = ORRERY_REDUCE_SCATTER,
               .name = "reduce_scatter",
               .type = c10d::OpType::REDUCE_SCATTER,
               .timeout = options.timeout,
               .is_async = options.asyncOp,
               .reduction = options.reduceOp},
              sizes, list, outputs, take);
}

/// Where in member `from`'s payload the part for `rank` lies; checks that it is as long as expected.
inline const char* part_from(const orrery_op& op, std::size_t from, int rank, std::int64_t bytes) {
  orrery_op* other = orrery_member_op(&op, from);
  TORCH_CHECK_WITH(DistBackendError, other != nullptr, op.name, ": member ", from, " did not take part");
  const std::int64_t* sizes = orrery_op_sizes(other);
  TORCH_CHECK_WITH(DistBackendError, sizes[rank] == bytes, op.name, ": member ", from, " sends ", sizes[rank],
                   " bytes to member ", rank, ", which expects ", bytes);
  return static_cast<const char*>(orrery_op_payload(other)) +
         std::accumulate(sizes, sizes + rank, std::int64_t{0});
}

/// Bytes per member of a tensor cut along its first dimension.
inline std::vector<std::int64_t> split_bytes(const at::Tensor& tensor,
                                             const std::vector<std::int64_t>& splits, int size) {
  std::int64_t row = static_cast<std::int64_t>(tensor.element_size());
  for (std::int64_t i = 1; i < tensor.dim(); ++i) row *= tensor.size(i);
  std::vector<std::int64_t> bytes;
  for (int i = 0; i < size; ++i) {
    bytes.push_back(row * (splits.empty() ? tensor.size(0) / size : splits[static_cast<std::size_t>(i)]));
  }
  return bytes;
}

inline WorkPointer Backend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                          std::vector<std::int64_t>& output_splits,
                                          std::vector<std::int64_t>& input_splits,
                                          const c10d::AllToAllOptions& options) {
  const Checks checks{"all_to_all_single"};
  checks.dense(output);
  checks.dense(input);
  checks.same_type(input, output, 0);
  checks.require(!output_splits.empty() || !input_splits.empty() || output.numel() == input.numel(),
                 "Tensors are not equal in size or data type");
  c10d::checkSplitSizes(input_splits, input, size_);
  c10d::checkSplitSizes(output_splits, output, size_);
  Sizes sizes = split_bytes(input, input_splits, size_);
  const Sizes from = split_bytes(output, output_splits, size_);
  sizes.insert(sizes.end(), from.begin(), from.end());
  const auto take = [output, from, rank = rank_](const orrery_op& op) {
    Target target{output};
    char* into = target.data();
    for (std::size_t i = 0; i < from.size(); ++i) {
      const char* part = part_from(op, i, rank, from[i]);
      if (from[i] > 0) std::memcpy(into, part, static_cast<std::size_t>(from[i]));
      into += from[i];
    }
    target.finish();
  };
  return post({.kind = ORRERY_ALL_TO_ALL,
               .name = "all_to_all_single",
               .type = c10d::OpType::ALLTOALL_BASE,
               .timeout = options.timeout,
               .is_async = options.asyncOp},
              sizes, {input}, {output}, take);
}

inline WorkPointer Backend::alltoall(Tensors& outputs, Tensors& inputs,
                                     const c10d::AllToAllOptions& options) {
  const Checks checks{"all_to_all"};
  checks.not_empty(inputs);
  checks.require(inputs.size() == members() && outputs.size() == members(),
                 "tensor list sizes must be equal to the world size");
  checks.same_type(inputs[0], inputs);
  checks.same_type(inputs[0], outputs);
  Sizes sizes;
  for (const at::Tensor& input : inputs) sizes.push_back(bytes_of(input));
  for (const at::Tensor& output : outputs) sizes.push_back(bytes_of(output));
  const auto take = [outputs, rank = rank_](const orrery_op& op) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      copy_out(outputs[i], part_from(op, i, rank, bytes_of(outputs[i])));
    }
  };
  return post({.kind = ORRERY_ALL_TO_ALL,
               .name = "all_to_all",
               .type = c10d::OpType::ALLTOALL,
               .timeout = options.timeout,
               .is_async = options.asyncOp},
              sizes, inputs, outputs, take);
}

}  // namespace orrery::live::shim
