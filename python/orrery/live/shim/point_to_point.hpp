// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages between two members, and barriers.
#include "backend.hpp"
#include "checks.hpp"
#include "memory.hpp"

namespace orrery::live::shim {

inline WorkPointer Backend::send(Tensors& tensors, int target, int tag) {
  const Checks checks{"send"};
  const at::Tensor& tensor = checks.single(tensors);
  checks.require(tag >= 0, "Tag must be nonnegative");
  checks.require(target >= 0 && target < size_, "invalid destination rank: ", target);
  return post({.kind = ORRERY_SEND, .name = "send", .type = c10d::OpType::SEND, .peer = target, .tag = tag},
              {bytes_of(tensor)}, tensors, tensors, {});
}

inline WorkPointer Backend::receive(Tensors& tensors, int source, int tag) {
  const Checks checks{"recv"};
  const at::Tensor& tensor = checks.single(tensors);
  checks.require(tag >= 0, "Tag must be nonnegative");
  const auto take = [tensor](const orrery_op& op) {
    orrery_op* sender = orrery_sender_op(&op);
    TORCH_CHECK_WITH(DistBackendError, sender->payload_bytes <= bytes_of(tensor),
                     "recv: the message of member ", op.source, " has ", sender->payload_bytes,
                     " bytes, the tensor ", bytes_of(tensor));
    copy_out_front(tensor, orrery_op_payload(sender), sender->payload_bytes);
  };
  return post({.kind = ORRERY_RECEIVE,
               .name = "recv",
               .type = source < 0 ? c10d::OpType::RECVANYSOURCE : c10d::OpType::RECV,
               .peer = source,
               .tag = tag},
              {bytes_of(tensor)}, {}, tensors, take);
}

inline WorkPointer Backend::recv(Tensors& tensors, int source, int tag) {
  Checks{"recv"}.require(source >= 0 && source < size_, "invalid source rank: ", source);
  return receive(tensors, source, tag);
}

inline WorkPointer Backend::recvAnysource(Tensors& tensors, int tag) { return receive(tensors, -1, tag); }

/// Starts when the earlier collectives of this rank are through, as gloo's does: programs that drop their works rely
/// on it. A barrier that is not waited for cannot wait itself.
inline WorkPointer Backend::barrier(const c10d::BarrierOptions& options) {
  if (!options.asyncOp) Pending::instance().wait_for_group(group_);
  // The host waits for its device first, as it would for a barrier that runs on the device.
  if (orrery_has_queues() != 0) orrery_queue_reach(orrery_queue_end(ORRERY_QUEUE_PRESENT));
  return post({.kind = ORRERY_BARRIER,
               .name = "barrier",
               .type = c10d::OpType::BARRIER,
               .timeout = options.timeout,
               .is_async = options.asyncOp},
              {}, {}, {}, {});
}

/// `tag` tells whether the error is to name all that are missing. No time at all is too short for anybody.
inline void Backend::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
  TORCH_CHECK(options.timeout.count() != 0, "Rank ", rank_, " timed out in monitoredBarrier after 0 ms.");
  post({.kind = ORRERY_MONITORED_BARRIER,
        .name = "monitored_barrier",
        .type = c10d::OpType::BARRIER,
        .timeout = options.timeout,
        .is_async = false,
        .tag = wait_all_ranks ? 1 : 0},
       {}, {}, {}, {})
      ->wait(kNoTimeout);
}

}  // namespace orrery::live::shim
