// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The group itself: how operations are posted, and how groups begin, split and end.
#include <numeric>

#include "backend.hpp"
#include "checks.hpp"
#include "reduce.hpp"
#include "where.hpp"

namespace orrery::live::shim {

inline Backend::Backend(int rank, std::vector<std::int32_t> ranks, std::string name, Milliseconds timeout,
                        std::string label)
    : c10d::Backend{rank, static_cast<int>(ranks.size())},
      ranks_{std::move(ranks)},
      name_{std::move(name)},
      label_{std::move(label)},
      options_{c10::make_intrusive<Options>(timeout)} {
  TORCH_CHECK(rank >= 0 && rank < size_, "Cannot init process group where rank (", rank, ") >= world_size (",
              size_, ")");
  TORCH_CHECK(orrery_rank_is_joined() != 0, "orrery: this process is no rank of the simulation");
  init();
  options_->group_name = name_;
  options_->global_ranks_in_group.assign(ranks_.begin(), ranks_.end());
  const Pause pause;
  group_ = orrery_group(name_.c_str(), ranks_.data(), ranks_.size());
}

inline double factor_of(const c10d::ReduceOp& reduction) {
  const auto* supplement = dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(reduction.supplement_.get());
  TORCH_CHECK(supplement != nullptr, "ReduceOp.PREMUL_SUM needs a factor");
  return supplement->tensor_factor.defined() ? supplement->tensor_factor.item<double>()
                                             : supplement->double_factor;
}

/// Titles and inputs are gloo's, so that what looks for them in a profile finds them. Our own observers do not listen
/// to this scope.
inline Work::Event Backend::event_of(const Call& call, const Tensors& payload, const Tensors& outputs) const {
  const bool is_heard = at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE).has_value();
  if (!is_heard || call.kind == ORRERY_MONITORED_BARRIER) return {};
  const char* title = call.name;
  if (call.kind == ORRERY_ALL_REDUCE) title = "all_reduce";
  if (call.kind == ORRERY_ALL_GATHER) title = "all_gather";
  if (call.kind == ORRERY_ALL_TO_ALL) title = "all_to_all";
  if (call.type == c10d::OpType::RECVANYSOURCE) title = "recvAnySource";
  if (call.type == c10d::OpType::_ALLREDUCE_SPARSE) title = "sparse_all_reduce";
  const bool has_inputs = !payload.empty() || call.kind == ORRERY_SCATTER;
  return {label_ + ":" + title, has_inputs ? payload : outputs};
}

/// ProcessGroupGloo gathers into one flat buffer, and scatters what it has added up in a copy of the input.
inline std::int64_t Backend::scratch_bytes(const Call& call, std::int64_t in, std::int64_t out) {
  if (call.kind == ORRERY_ALL_GATHER || call.kind == ORRERY_GATHER) return out;
  return call.kind == ORRERY_REDUCE_SCATTER ? in : 0;
}

inline WorkPointer Backend::post(const Call& call, const Sizes& sizes, const Tensors& payload,
                                 Tensors outputs, Work::Take take) {
  const Pause pause;
  TORCH_CHECK(!is_down_, "orrery::", call.name, ": the process group has been destroyed");
  const at::Tensor* sample = payload.empty() ? (outputs.empty() ? nullptr : outputs.data()) : payload.data();
  const bool is_fake = sample != nullptr && is_simulated(*sample) && orrery_is_fake() != 0;
  const std::int64_t bytes = bytes_of(payload);
  orrery_op* op = orrery_op_new(call.kind, sizes.size(), is_fake ? 0 : static_cast<std::size_t>(bytes));
  if (op == nullptr) throw_errno(call.name);
  op->payload_bytes = bytes;
  if (is_fake) take = {};
  std::copy(sizes.begin(), sizes.end(), orrery_op_sizes(op));
  auto* flat = static_cast<char*>(orrery_op_payload(op));
  for (const at::Tensor& tensor : is_fake ? Tensors{} : payload) {
    copy_in(flat, tensor);
    if (call.reduction.op_ == Reduction::PREMUL_SUM) {
      scale(flat, tensor.scalar_type(), bytes_of(tensor), factor_of(call.reduction));
    }
    flat += bytes_of(tensor);
  }
  if (sample != nullptr) {
    op->dtype = static_cast<std::uint32_t>(sample->scalar_type());
    op->element = static_cast<std::uint32_t>(sample->element_size());
  }
  const bool is_message = call.kind == ORRERY_SEND || call.kind == ORRERY_RECEIVE;
  const Where::Place place = Where::here();
  op->reduction = call.reduction.op_;
  op->group = group_;
  op->sequence = is_message ? 0 : sequence_++;
  op->peer = static_cast<std::int32_t>(call.peer);
  op->tag = call.tag;
  op->timeout_ps = to_picoseconds(call.timeout == c10d::kUnsetTimeout ? options_->timeout : call.timeout);
  op->on_device = sample != nullptr && is_simulated(*sample) ? 1 : 0;
  op->is_async = (is_message ? place.is_async : call.is_async) ? 1 : 0;
  std::strncpy(op->name, call.name, sizeof op->name - 1);
  op->where[place.line.copy(op->where, sizeof op->where - 1)] = '\0';
  const Work::Event event = event_of(call, payload, outputs);
  auto work = c10::make_intrusive<Work>(rank_, call.type, event, op, std::move(outputs), std::move(take));
  work->set_scratch(scratch_bytes(call, bytes, bytes_of(work->outputs())));
  if (Dataflow::is_on()) {
    Dataflow::instance().close();
    // Outputs of several inputs in one call do not lie in the order of members.
    const bool is_in_order = payload.size() == 1 || call.kind != ORRERY_ALL_GATHER;
    if (is_in_order) {
      work->set_own(own_bytes(call.kind, rank_, size_, call.peer, sizes, bytes_of(work->outputs())));
    }
  }
  if (orrery_post(op) != 0) throw_errno(call.name);
  Pending::instance().add(work);
  const std::lock_guard lock{batch_mutex_};
  if (is_coalescing_) {
    work->set_deferred(true);
    batch_.push_back(work);
  }
  return work;
}

inline const char* Backend::payload_of(const orrery_op& op, std::size_t member, std::int64_t end) {
  orrery_op* other = orrery_member_op(&op, member);
  TORCH_CHECK_WITH(DistBackendError, other != nullptr && end <= other->payload_bytes, op.name, ": member ",
                   member, " contributed ", other == nullptr ? 0 : other->payload_bytes, " bytes, ", end,
                   " were expected");
  return static_cast<const char*>(orrery_op_payload(other));
}

inline std::vector<const void*> Backend::payloads_of(const orrery_op& op, std::size_t members,
                                                     std::int64_t offset, std::int64_t end) {
  std::vector<const void*> all(members);
  for (std::size_t i = 0; i < members; ++i) all[i] = payload_of(op, i, end) + offset;
  return all;
}

inline void Backend::startCoalescing() {
  const std::lock_guard lock{batch_mutex_};
  is_coalescing_ = true;
}

inline WorkPointer Backend::endCoalescing() {
  const std::lock_guard lock{batch_mutex_};
  is_coalescing_ = false;
  return c10::make_intrusive<Batch>(rank_, std::exchange(batch_, {}));
}

inline void Backend::shutdown() {
  if (is_down_.exchange(true) || orrery_rank_is_joined() == 0) return;
  const Pause pause;
  orrery_op* op = orrery_op_new(ORRERY_END_GROUP, 0, 0);
  if (op == nullptr) return;  // The run is over as well.
  op->group = group_;
  std::strncpy(op->name, "destroy_process_group", sizeof op->name - 1);
  orrery_post(op);
}

inline c10::intrusive_ptr<c10d::Backend> Backend::split(
    const c10::intrusive_ptr<c10d::Store>& /*store*/, const std::vector<int>& ranks,
    const c10::intrusive_ptr<c10d::Backend::Options>& options) {
  std::vector<std::int32_t> chosen;
  int rank = -1;
  for (const int member : ranks) {
    TORCH_CHECK(member >= 0 && member < size_, "orrery::split: no member ", member);
    if (member == rank_) rank = static_cast<int>(chosen.size());
    chosen.push_back(ranks_[static_cast<std::size_t>(member)]);
  }
  if (rank < 0) return nullptr;
  const std::string name = options && !options->group_name.empty() ? options->group_name : name_ + "/split";
  return c10::make_intrusive<Backend>(rank, std::move(chosen), name,
                                      options ? options->timeout : options_->timeout, label_);
}

/// The others are not known here: every member tells its rank in the world through the store.
inline c10::intrusive_ptr<c10d::Backend> Backend::merge(
    const c10::intrusive_ptr<c10d::Store>& store, const c10::intrusive_ptr<c10d::Backend::Options>& options,
    const int& rank, const int& size) {
  const auto key = [](int member) { return "orrery/merge/" + std::to_string(member); };
  const auto own = static_cast<std::uint32_t>(ranks_[static_cast<std::size_t>(rank_)]);
  store->set(key(rank),
             std::vector<std::uint8_t>{static_cast<std::uint8_t>(own), static_cast<std::uint8_t>(own >> 8),
                                       static_cast<std::uint8_t>(own >> 16)});
  std::vector<std::int32_t> all;
  for (int member = 0; member < size; ++member) {
    const std::vector<std::uint8_t> text = store->get(key(member));
    all.push_back(text.at(0) | (text.at(1) << 8) | (text.at(2) << 16));
  }
  const std::string name = options && !options->group_name.empty() ? options->group_name : name_ + "/merge";
  return c10::make_intrusive<Backend>(rank, std::move(all), name,
                                      options ? options->timeout : options_->timeout, label_);
}

}  // namespace orrery::live::shim
