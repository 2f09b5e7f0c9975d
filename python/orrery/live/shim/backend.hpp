// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The process group of a simulated cluster. Every call becomes one operation of the simulation: its input is copied
/// to shared memory and posted at the present virtual time; its Work lands when the simulated network is done.
#include <atomic>
#include <mutex>
#include <string>

#include "dataflow.hpp"
#include "own_bytes.hpp"
#include "torch.hpp"
#include "work.hpp"

namespace orrery::live::shim {

class Backend final : public c10d::Backend {
 public:
  struct Options final : c10d::Backend::Options {
    explicit Options(Milliseconds timeout) : c10d::Backend::Options{"orrery", timeout} {}
  };
  /// `ranks` are the members' ranks in the world, in group order; `label` is what the program calls the backend.
  Backend(int rank, std::vector<std::int32_t> ranks, std::string name, Milliseconds timeout,
          std::string label);

  const std::string getBackendName() const override { return "orrery"; }
  c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() override { return options_; }
  void setTimeout(Milliseconds timeout) override { options_->timeout = timeout; }

  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPointer allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPointer allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPointer allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                        const c10d::AllgatherOptions& options) override;
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input,
                              const c10d::AllgatherOptions& options) override;
  WorkPointer allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                  const c10d::AllgatherOptions& options) override;
  WorkPointer allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) override;
  WorkPointer gather(std::vector<Tensors>& outputs, Tensors& inputs,
                     const c10d::GatherOptions& options) override;
  /// Overrides from torch 2.15 on.
  WorkPointer gather_into_tensor(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& options);
  WorkPointer scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                      const c10d::ScatterOptions& options) override;
  WorkPointer reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                             const c10d::ReduceScatterOptions& options) override;
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& options) override;
  WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::ReduceScatterOptions& options) override;
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                            std::vector<std::int64_t>& input_splits,
                            const c10d::AllToAllOptions& options) override;
  WorkPointer alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  WorkPointer send(Tensors& tensors, int target, int tag) override;
  WorkPointer recv(Tensors& tensors, int source, int tag) override;
  WorkPointer recvAnysource(Tensors& tensors, int tag) override;
  WorkPointer barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;

  /// Operations start as they are posted, whatever stands around them, so batches need no help: each send and
  /// receive of batch_isend_irecv() has its own Work. Who coalesces explicitly gets one Work for all.
  void startCoalescing() override;
  WorkPointer endCoalescing() override;

  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return sequence_; }
  c10d::ErrorType getError() override { return c10d::ErrorType::SUCCESS; }
  void enableCollectivesTiming() override {}
  void waitForPendingWorks() override {}
  void shutdown() override;
  void abort() override { shutdown(); }
  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store>& store,
                                          const std::vector<int>& ranks,
                                          const c10::intrusive_ptr<c10d::Backend::Options>& options) override;
  c10::intrusive_ptr<c10d::Backend> merge(const c10::intrusive_ptr<c10d::Store>& store,
                                          const c10::intrusive_ptr<c10d::Backend::Options>& options,
                                          const int& rank, const int& size) override;

 private:
  /// What an operation is, beside its data.
  struct Call {
    orrery_kind kind;
    const char* name;  ///< As the user calls it.
    c10d::OpType type;
    Milliseconds timeout = c10d::kUnsetTimeout;
    bool is_async = true;
    std::int64_t peer = -1;
    int tag = 0;
    c10d::ReduceOp reduction = c10d::ReduceOp::UNUSED;
  };
  using Sizes = std::vector<std::int64_t>;

  static std::int64_t scratch_bytes(const Call& call, std::int64_t in, std::int64_t out);
  /// Posts one operation: `payload` is copied now, one tensor after the other; `take` writes `outputs` at the end.
  WorkPointer post(const Call& call, const Sizes& sizes, const Tensors& payload, Tensors outputs,
                   Work::Take take);
  /// What torch's profiler is told, if it listens: "gloo:all_reduce", and the tensors for their shapes.
  Work::Event event_of(const Call& call, const Tensors& payload, const Tensors& outputs) const;
  WorkPointer reduce_to_all(const Call& call, const Tensors& tensors);
  WorkPointer gather_to_all(const Call& call, Tensors outputs, const Tensors& inputs);
  WorkPointer reduce_parts(const Call& call, const Tensors& outputs, const Tensors& inputs);
  WorkPointer receive(Tensors& tensors, int source, int tag);
  std::size_t members() const { return static_cast<std::size_t>(size_); }
  /// The flat memory that member `member` contributed, of which `end` bytes are wanted.
  static const char* payload_of(const orrery_op& op, std::size_t member, std::int64_t end);
  static std::vector<const void*> payloads_of(const orrery_op& op, std::size_t members, std::int64_t offset,
                                              std::int64_t end);

  const std::vector<std::int32_t> ranks_;
  const std::string name_;
  const std::string label_;
  const c10::intrusive_ptr<Options> options_;
  std::uint64_t group_ = 0;
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<bool> is_down_{false};
  std::mutex batch_mutex_;
  bool is_coalescing_ = false;
  std::vector<c10::intrusive_ptr<Work>> batch_;
};

}  // namespace orrery::live::shim

#include "backend_group.hpp"      // IWYU pragma: export
#include "collectives.hpp"        // IWYU pragma: export
#include "collectives_parts.hpp"  // IWYU pragma: export
#include "point_to_point.hpp"     // IWYU pragma: export
