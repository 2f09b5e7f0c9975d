// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collectives with one result for everybody, or with a root: what each member contributes, and how the result comes
/// out of the contributions. In the coalesced forms one operation carries all tensors, one after the other.
#include "backend.hpp"
#include "checks.hpp"
#include "memory.hpp"
#include "reduce.hpp"

namespace orrery::live::shim {

// ---- everybody gets the whole ---------------------------------------------------------------------------------

/// Computed once, by the first member whose operation lands; the others copy it.
inline WorkPointer Backend::reduce_to_all(const Call& call, const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors) check_reduction(call.reduction.op_, tensor.scalar_type());
  const std::int64_t bytes = bytes_of(tensors);
  const auto take = [tensors, bytes, count = members(), reduction = call.reduction.op_](const orrery_op& op) {
    const std::vector<const void*> all = payloads_of(op, count, 0, bytes);
    const auto* result = static_cast<const char*>(orrery_result(&op));
    if (result == nullptr) {
      auto* fresh = static_cast<char*>(orrery_result_new(&op, static_cast<std::size_t>(bytes)));
      if (fresh == nullptr) throw_errno(op.name);
      std::int64_t offset = 0;
      for (const at::Tensor& tensor : tensors) {
        std::vector<const void*> parts = all;
        for (const void*& part : parts) part = static_cast<const char*>(part) + offset;
        fold(reduction, tensor.scalar_type(), fresh + offset, parts, bytes_of(tensor));
        offset += bytes_of(tensor);
      }
      orrery_result_ready(&op);
      result = fresh;
    }
    for (const at::Tensor& tensor : tensors) {
      copy_out(tensor, result);
      result += bytes_of(tensor);
    }
  };
  return post(call, {bytes}, tensors, tensors, take);
}

inline WorkPointer Backend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  if (tensors.size() == 1 && tensors[0].is_sparse()) return allreduce_sparse(tensors, options);
  Checks{"all_reduce"}.single(tensors);
  return reduce_to_all({.kind = ORRERY_ALL_REDUCE,
                        .name = "all_reduce",
                        .type = c10d::OpType::ALLREDUCE,
                        .timeout = options.timeout,
                        .is_async = options.asyncOp,
                        .reduction = options.reduceOp},
                       tensors);
}

inline WorkPointer Backend::allreduce_coalesced(Tensors& tensors,
                                                const c10d::AllreduceCoalescedOptions& options) {
  const Checks checks{"all_reduce_coalesced"};
  checks.not_empty(tensors);
  checks.same_type(tensors[0], tensors);
  return reduce_to_all({.kind = ORRERY_ALL_REDUCE,
                        .name = "all_reduce_coalesced",
                        .type = c10d::OpType::ALLREDUCE_COALESCED,
                        .timeout = options.timeout,
                        .is_async = options.asyncOp,
                        .reduction = options.reduceOp},
                       tensors);
}

/// Sparse tensors travel densely: their sum is right, their volume is that of the dense tensor.
inline WorkPointer Backend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
  const Checks checks{"all_reduce"};
  checks.require(tensors.size() == 1 && tensors[0].is_sparse(), "requires a single sparse tensor");
  checks.require(options.reduceOp.op_ == Reduction::SUM, "sparse tensors can only be summed");
  const at::Tensor sparse = tensors[0];
  at::Tensor dense;
  {
    const Pause pause;
    const at::AutoDispatchBelowADInplaceOrView guard;
    dense = sparse.to_dense();
  }
  const std::int64_t bytes = bytes_of(dense);
  check_reduction(options.reduceOp.op_, dense.scalar_type());
  const auto take = [sparse, dense, bytes, count = members()](const orrery_op& op) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    Target target{dense};
    fold(Reduction::SUM, dense.scalar_type(), target.data(), payloads_of(op, count, 0, bytes), bytes);
    target.finish();
    sparse.copy_(dense.to_sparse(sparse.sparse_dim()));
  };
  return post({.kind = ORRERY_ALL_REDUCE,
               .name = "all_reduce",
               .type = c10d::OpType::_ALLREDUCE_SPARSE,
               .timeout = options.timeout,
               .is_async = options.asyncOp,
               .reduction = options.reduceOp},
              {bytes}, {dense}, tensors, take);
}

inline WorkPointer Backend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const Checks checks{"broadcast"};
  const at::Tensor& tensor = checks.single(tensors);
  checks.root(options.rootRank, size_);
  const bool is_root = rank_ == options.rootRank;
  Work::Take take;
  if (!is_root) {
    take = [tensor, root = static_cast<std::size_t>(options.rootRank)](const orrery_op& op) {
      copy_out(tensor, payload_of(op, root, bytes_of(tensor)));
    };
  }
  return post({.kind = ORRERY_BROADCAST,
               .name = "broadcast",
               .type = c10d::OpType::BROADCAST,
               .timeout = options.timeout,
               .is_async = options.asyncOp,
               .peer = options.rootRank},
              {bytes_of(tensor)}, is_root ? tensors : Tensors{}, tensors, std::move(take));
}

/// `outputs[j]` takes the inputs[j] of all members, one after the other.
inline WorkPointer Backend::gather_to_all(const Call& call, Tensors outputs, const Tensors& inputs) {
  const std::int64_t bytes = bytes_of(inputs);
  const auto take = [outputs, bytes, count = members()](const orrery_op& op) {
    const std::vector<const void*> all = payloads_of(op, count, 0, bytes);
    std::int64_t offset = 0;
    for (const at::Tensor& output : outputs) {
      const std::int64_t part = bytes_of(output) / static_cast<std::int64_t>(count);
      Target target{output};
      for (std::size_t i = 0; i < count && part > 0; ++i) {
        std::memcpy(target.data() + static_cast<std::int64_t>(i) * part,
                    static_cast<const char*>(all[i]) + offset, static_cast<std::size_t>(part));
      }
      target.finish();
      offset += part;
    }
  };
  return post(call, Sizes(members(), bytes), inputs, std::move(outputs), take);
}

inline WorkPointer Backend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                            const c10d::AllgatherOptions& options) {
  Checks{"all_gather_into_tensor"}.times(
      output, input, size_, "output tensor size must be equal to world_size times input tensor size");
  return gather_to_all({.kind = ORRERY_ALL_GATHER,
                        .name = "all_gather_into_tensor",
                        .type = c10d::OpType::_ALLGATHER_BASE,
                        .timeout = options.timeout,
                        .is_async = options.asyncOp},
                       {output}, {input});
}

inline WorkPointer Backend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                            const c10d::AllgatherOptions& options) {
  const Checks checks{"all_gather_into_tensor_coalesced"};
  checks.not_empty(inputs);
  checks.require(outputs.size() == inputs.size(),
                 "requires input/output tensor lists to have the same length");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    checks.times(outputs[i], inputs[i], size_,
                 "output tensor size must be equal to world_size times input tensor size");
  }
  return gather_to_all({.kind = ORRERY_ALL_GATHER,
                        .name = "all_gather_into_tensor",
                        .type = c10d::OpType::COALESCED,
                        .timeout = options.timeout,
                        .is_async = options.asyncOp},
                       outputs, inputs);
}

/// Members may contribute tensors of different sizes.
inline WorkPointer Backend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                      const c10d::AllgatherOptions& options) {
  const Checks checks{"all_gather"};
  const at::Tensor& input = checks.single(inputs, "input ");
  checks.require(outputs.size() == 1, "requires input/output tensor lists to have the same length");
  checks.require(outputs[0].size() == members(), "invalid output tensor list at index 0 (expected length ",
                 size_, ", got ", outputs[0].size(), ")");
  checks.same_type(input, outputs[0]);
  checks.same_size(input, outputs[0][static_cast<std::size_t>(rank_)], static_cast<std::size_t>(rank_));
  Sizes sizes;
  for (const at::Tensor& output : outputs[0]) sizes.push_back(bytes_of(output));
  const auto take = [list = outputs[0]](const orrery_op& op) {
    for (std::size_t i = 0; i < list.size(); ++i) copy_out(list[i], payload_of(op, i, bytes_of(list[i])));
  };
  return post({.kind = ORRERY_ALL_GATHER,
               .name = "all_gather",
               .type = c10d::OpType::ALLGATHER,
               .timeout = options.timeout,
               .is_async = options.asyncOp},
              sizes, inputs, outputs[0], take);
}

inline WorkPointer Backend::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                                const c10d::AllgatherOptions& options) {
  const Checks checks{"all_gather_coalesced"};
  checks.not_empty(inputs);
  checks.require(outputs.size() == members(), "output lists should be equal to world size");
  Sizes sizes;
  Tensors flat;
  for (const Tensors& list : outputs) {
    checks.require(list.size() == inputs.size(), "invalid output size: (expected length ", inputs.size(),
                   ", got ", list.size(), ")");
    for (std::size_t i = 0; i < list.size(); ++i) {
      checks.dense(list[i]);
      checks.same_type(inputs[i], list[i], i);
      checks.same_size(inputs[i], list[i], i);
      flat.push_back(list[i]);
    }
    sizes.push_back(bytes_of(list));
  }
  const auto take = [lists = outputs](const orrery_op& op) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const char* from = payload_of(op, i, bytes_of(lists[i]));
      for (const at::Tensor& output : lists[i]) {
        copy_out(output, from);
        from += bytes_of(output);
      }
    }
  };
  return post({.kind = ORRERY_ALL_GATHER,
               .name = "all_gather_coalesced",
               .type = c10d::OpType::ALLGATHER_COALESCED,
               .timeout = options.timeout,
               .is_async = options.asyncOp},
              sizes, inputs, std::move(flat), take);
}

// ---- one root ---------------------------------------------------------------------------------------------------

inline WorkPointer Backend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const Checks checks{"reduce"};
  const at::Tensor& tensor = checks.single(tensors);
  checks.root(options.rootRank, size_);
  check_reduction(options.reduceOp.op_, tensor.scalar_type());
  Work::Take take;
  if (rank_ == options.rootRank) {
    take = [tensor, count = members(), reduction = options.reduceOp.op_](const orrery_op& op) {
      Target target{tensor};
      const std::int64_t bytes = bytes_of(tensor);
      fold(reduction, tensor.scalar_type(), target.data(), payloads_of(op, count, 0, bytes), bytes);
      target.finish();
    };
  }
  return post({.kind = ORRERY_REDUCE,
               .name = "reduce",
               .type = c10d::OpType::REDUCE,
               .timeout = options.timeout,
               .is_async = options.asyncOp,
               .peer = options.rootRank,
               .reduction = options.reduceOp},
              {bytes_of(tensor)}, tensors, tensors, std::move(take));
}

inline WorkPointer Backend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                   const c10d::GatherOptions& options) {
  const Checks checks{"gather"};
  const at::Tensor& input = checks.single(inputs, "input ");
  checks.root(options.rootRank, size_);
  Sizes sizes{bytes_of(input)};
  Tensors list;
  Work::Take take;
  if (rank_ == options.rootRank) {
    list = checks.list_of(outputs, size_, "output");
    checks.same_type(input, list);
    for (const at::Tensor& output : list) sizes.push_back(bytes_of(output));
    take = [list](const orrery_op& op) {
      for (std::size_t i = 0; i < list.size(); ++i) copy_out(list[i], payload_of(op, i, bytes_of(list[i])));
    };
  } else {
    checks.require(outputs.empty(), "requires empty output on non-root");
  }
  return post({.kind = ORRERY_GATHER,
               .name = "gather",
               .type = c10d::OpType::GATHER,
               .timeout = options.timeout,
               .is_async = options.asyncOp,
               .peer = options.rootRank},
              sizes, inputs, std::move(list), std::move(take));
}

inline WorkPointer Backend::gather_into_tensor(at::Tensor& output, at::Tensor& input,
                                               const c10d::GatherOptions& options) {
  std::vector<Tensors> lists;
  Tensors inputs{input};
  if (rank_ == options.rootRank) {
    Checks{"gather_single"}.times(output, input, size_,
                                  "output tensor size must be equal to world_size times input tensor size");
    const at::AutoDispatchBelowADInplaceOrView guard;
    lists.emplace_back();
    const Tensors parts = output.view({size_, -1}).unbind(0);
    for (const at::Tensor& part : parts) lists[0].push_back(part.view(input.sizes()));
  }
  return gather(lists, inputs, options);
}

inline WorkPointer Backend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                    const c10d::ScatterOptions& options) {
  const Checks checks{"scatter"};
  const at::Tensor& output = checks.single(outputs, "output ");
  checks.root(options.rootRank, size_);
  Sizes sizes{bytes_of(output)};
  Tensors list;
  if (rank_ == options.rootRank) {
    list = checks.list_of(inputs, size_, "input");
    checks.same_type(output, list);
    for (const at::Tensor& input : list) sizes.push_back(bytes_of(input));
  } else {
    checks.require(inputs.empty(), "requires empty input on non-root");
  }
  const auto take = [output, rank = rank_,
                     root = static_cast<std::size_t>(options.rootRank)](const orrery_op& op) {
    const std::int64_t* all = orrery_op_sizes(orrery_member_op(&op, root)) + 1;
    const std::int64_t offset = std::accumulate(all, all + rank, std::int64_t{0});
    copy_out(output, payload_of(op, root, offset + bytes_of(output)) + offset);
  };
  return post({.kind = ORRERY_SCATTER,
               .name = "scatter",
               .type = c10d::OpType::SCATTER,
               .timeout = options.timeout,
               .is_async = options.asyncOp,
               .peer = options.rootRank},
              sizes, list, outputs, take);
}

}  // namespace orrery::live::shim
