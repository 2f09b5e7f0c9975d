// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A process group around another one, in a real run: every call goes on to the inner group as it is, and is noted with
/// the times of its post and of its end. Names and bytes are those a simulated run notes.
#include <numeric>

#include "log.hpp"
#include "torch.hpp"
#include "where.hpp"
#include "work.hpp"

namespace orrery::live::recorder {

class Backend final : public c10d::Backend {
 public:
  using Inner = c10::intrusive_ptr<c10d::Backend>;
  Backend(Inner inner, std::vector<std::int32_t> ranks, const std::string& name)
      : c10d::Backend{inner->getRank(), inner->getSize()},
        inner_{std::move(inner)},
        ranks_{std::move(ranks)} {
    init();
    group_ = Log::instance().add_group(name, ranks_);
  }

  const std::string getBackendName() const override { return inner_->getBackendName(); }
  c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() override {
    return inner_->getBackendOptions();
  }
  bool supportsCoalescing() const override { return inner_->supportsCoalescing(); }
  void setTimeout(Milliseconds timeout) override { inner_->setTimeout(timeout); }
  void startCoalescing() override { inner_->startCoalescing(); }
  WorkPointer endCoalescing() override { return inner_->endCoalescing(); }
  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  std::uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup(); }
  c10d::ErrorType getError() override { return inner_->getError(); }
  void enableCollectivesTiming() override { inner_->enableCollectivesTiming(); }
  void waitForPendingWorks() override { inner_->waitForPendingWorks(); }
  void shutdown() override { inner_->shutdown(); }
  void abort() override { inner_->abort(); }

  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return note("all_reduce", bytes_of(tensors), options.asyncOp,
                [&] { return inner_->allreduce(tensors, options); });
  }
  WorkPointer allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return note("all_reduce", bytes_of(tensors), options.asyncOp,
                [&] { return inner_->allreduce_sparse(tensors, options); });
  }
  WorkPointer allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    return note("all_reduce_coalesced", bytes_of(tensors), options.asyncOp,
                [&] { return inner_->allreduce_coalesced(tensors, options); });
  }
  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    const bool is_root = options.rootRank == rank_;
    return note(
        "broadcast", is_root ? bytes_of(tensors) : 0, options.asyncOp,
        [&] { return inner_->broadcast(tensors, options); },
        static_cast<int>(options.rootRank));
  }
  WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return note(
        "reduce", bytes_of(tensors), options.asyncOp, [&] { return inner_->reduce(tensors, options); },
        static_cast<int>(options.rootRank));
  }
  WorkPointer allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                        const c10d::AllgatherOptions& options) override {
    return note("all_gather", bytes_of(inputs), options.asyncOp,
                [&] { return inner_->allgather(outputs, inputs, options); });
  }
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input,
                              const c10d::AllgatherOptions& options) override {
    return note("all_gather_into_tensor", bytes_of({input}), options.asyncOp,
                [&] { return inner_->_allgather_base(output, input, options); });
  }
  WorkPointer allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                  const c10d::AllgatherOptions& options) override {
    return note("all_gather_coalesced", bytes_of(inputs), options.asyncOp,
                [&] { return inner_->allgather_coalesced(outputs, inputs, options); });
  }
  WorkPointer allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) override {
    return note("all_gather_into_tensor", bytes_of(inputs), options.asyncOp,
                [&] { return inner_->allgather_into_tensor_coalesced(outputs, inputs, options); });
  }
  WorkPointer gather(std::vector<Tensors>& outputs, Tensors& inputs,
                     const c10d::GatherOptions& options) override {
    return note(
        "gather", bytes_of(inputs), options.asyncOp, [&] { return inner_->gather(outputs, inputs, options); },
        static_cast<int>(options.rootRank));
  }
  WorkPointer scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                      const c10d::ScatterOptions& options) override {
    return note(
        "scatter", inputs.empty() ? 0 : bytes_of(inputs[0]), options.asyncOp,
        [&] { return inner_->scatter(outputs, inputs, options); }, static_cast<int>(options.rootRank));
  }
  WorkPointer reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                             const c10d::ReduceScatterOptions& options) override {
    return note("reduce_scatter", inputs.empty() ? 0 : bytes_of(inputs[0]), options.asyncOp,
                [&] { return inner_->reduce_scatter(outputs, inputs, options); });
  }
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& options) override {
    return note("reduce_scatter_tensor", bytes_of({input}), options.asyncOp,
                [&] { return inner_->_reduce_scatter_base(output, input, options); });
  }
  WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::ReduceScatterOptions& options) override {
    return note("reduce_scatter_tensor", bytes_of(inputs), options.asyncOp,
                [&] { return inner_->reduce_scatter_tensor_coalesced(outputs, inputs, options); });
  }
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                            std::vector<std::int64_t>& input_splits,
                            const c10d::AllToAllOptions& options) override {
    return note("all_to_all_single", bytes_of({input}), options.asyncOp,
                [&] { return inner_->alltoall_base(output, input, output_splits, input_splits, options); });
  }
  WorkPointer alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
    return note("all_to_all", bytes_of(inputs), options.asyncOp,
                [&] { return inner_->alltoall(outputs, inputs, options); });
  }
  WorkPointer send(Tensors& tensors, int target, int tag) override {
    return note(
        "send", bytes_of(tensors), true, [&] { return inner_->send(tensors, target, tag); }, target);
  }
  WorkPointer recv(Tensors& tensors, int source, int tag) override {
    return note("recv", 0, true, [&] { return inner_->recv(tensors, source, tag); }, source);
  }
  WorkPointer recvAnysource(Tensors& tensors, int tag) override {
    return note("recv", 0, true, [&] { return inner_->recvAnysource(tensors, tag); });
  }
  WorkPointer barrier(const c10d::BarrierOptions& options) override {
    return note("barrier", 0, options.asyncOp, [&] { return inner_->barrier(options); });
  }
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override {
    const std::size_t index = begin("monitored_barrier", 0, false, -1);
    Log::instance().returned(index, now_ns());
    note_wait(index, true, [&] {
      inner_->monitoredBarrier(options, wait_all_ranks);
      return true;
    });
  }

 private:
  static std::int64_t bytes_of(const Tensors& tensors) {
    std::int64_t bytes = 0;
    for (const at::Tensor& tensor : tensors) {
      bytes += tensor.numel() * static_cast<std::int64_t>(tensor.element_size());
    }
    return bytes;
  }

  static bool is_message(std::string_view name) { return name == "send" || name == "recv"; }

  std::size_t begin(const char* name, std::int64_t bytes, bool is_async, int peer) {
    Operation operation;
    operation.name = name;
    operation.group = group_;
    operation.sequence = is_message(name) ? 0 : sequence_++;
    operation.peer = peer < 0 ? -1 : ranks_[static_cast<std::size_t>(peer)];
    operation.bytes = bytes;
    const shim::Where::Place place = shim::Where::here();
    operation.is_async = is_message(name) ? place.is_async : is_async;
    operation.where = place.line;
    operation.posted = now_ns();
    return Log::instance().begin(std::move(operation));
  }

  template <class Call>
  WorkPointer note(const char* name, std::int64_t bytes, bool is_async, Call call, int peer = -1) {
    const std::size_t index = begin(name, bytes, is_async, peer);
    WorkPointer work;
    try {
      const Boost boost{is_message(name)};
      work = call();
    } catch (...) {
      Log::instance().done(index, now_ns(), true);
      throw;
    }
    Log::instance().returned(index, now_ns());
    return c10::make_intrusive<Work>(rank_, std::move(work), index);
  }

  const Inner inner_;
  const std::vector<std::int32_t> ranks_;
  std::uint32_t group_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace orrery::live::recorder
