// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/emitter.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace orrery::workload::generate {

Emitter::Emitter(const Recipe& recipe, const Place& place) : recipe_{recipe}, place_{place} {
  for (std::size_t i = 0; i < kGroupKinds; ++i) {
    const auto kind = static_cast<GroupKind>(i);
    if (is_member(recipe, kind, place)) group_names_.at(i) = group_name(recipe, kind, place);
  }
}

bool Emitter::take(Op& op) {
  if (is_empty()) return false;
  std::swap(op, ops_[taken_++]);
  if (is_empty()) made_ = taken_ = 0;
  return true;
}

Op& Emitter::add(OpKind kind, std::string_view name) {
  if (made_ == ops_.size()) ops_.emplace_back();
  Op& op = ops_[made_++];
  op.clear();
  op.id = next_id_++;
  op.kind = kind;
  const auto out = std::back_inserter(op.name);
  fmt::format_to(out, "{}", name);
  if (!label.phase.empty()) fmt::format_to(out, ".{}", label.phase);
  if (label.layer >= 0) fmt::format_to(out, ".l{}", label.layer);
  if (label.micro_batch >= 0) fmt::format_to(out, ".mb{}", label.micro_batch);
  if (recipe_.steps > 1) fmt::format_to(out, ".s{}", label.step);
  return op;
}

Duration Emitter::duration_of(Work work) const {
  return recipe_.has_device ? roofline(work, recipe_.device) : Duration{};
}

void Emitter::compute(std::string_view name, Work work) {
  if (!merged_name_.empty()) merged_name_ += '+';
  merged_name_ += name;
  merged_ = merged_ + work;
  merged_time_ += duration_of(work);
  if (!recipe_.merges) flush();
}

void Emitter::flush() {
  if (merged_name_.empty()) return;
  Op& op = add(OpKind::kCompute, merged_name_);
  op.flops = merged_.flops;
  op.tensor = Bytes{merged_.bytes};
  op.recorded = merged_time_;
  if (shares > 0) {
    const std::int64_t whole = count_ps(shared_time);
    op.recorded = Duration{whole / shares + (share < whole % shares ? 1 : 0)};
  }
  ++share;
  op.data_deps = waits_;
  if (last_compute_ != 0) op.control_deps.push_back(last_compute_);
  waits_.clear();
  last_compute_ = op.id;
  merged_name_.clear();
  merged_ = {};
  merged_time_ = {};
}

OpId Emitter::last_compute() {
  flush();
  return last_compute_;
}

std::vector<OpId> Emitter::producers() {
  flush();
  if (!waits_.empty()) return waits_;
  return last_compute_ == 0 ? std::vector<OpId>{} : std::vector<OpId>{last_compute_};
}

OpId Emitter::collective(collectives::Operation operation, GroupKind kind, std::int64_t bytes,
                         std::string_view name, std::span<const OpId> after) {
  if (!is_member(recipe_, kind, place_)) return 0;
  flush();
  Op& op = add(OpKind::kCollective, name);
  op.operation = operation;
  op.size = Bytes{bytes};
  op.group = group_names_.at(static_cast<std::size_t>(kind));
  op.data_deps.assign(after.begin(), after.end());
  OpId& last = last_of_group_.at(static_cast<std::size_t>(kind));
  bool is_named = last == 0;
  for (const OpId id : after) is_named = is_named || id == last;
  if (!is_named) op.control_deps.push_back(last);
  last = op.id;
  return op.id;
}

void Emitter::exchange(collectives::Operation operation, GroupKind kind, std::int64_t bytes,
                       std::string_view name) {
  const std::vector<OpId> after = producers();
  const OpId id = collective(operation, kind, bytes, name, after);
  if (id == 0) return;
  waits_.assign(1, id);
}

void Emitter::add_message(Op& op, Rank peer, std::int64_t bytes, std::int64_t tag,
                          std::span<const OpId> after) {
  op.peer = peer;
  op.size = Bytes{bytes};
  op.tag = tag;
  op.data_deps.assign(after.begin(), after.end());
}

OpId Emitter::send(Rank peer, std::int64_t bytes, std::int64_t tag, std::string_view name,
                   std::span<const OpId> after) {
  flush();
  Op& op = add(OpKind::kSend, name);
  add_message(op, peer, bytes, tag, after);
  return op.id;
}

OpId Emitter::receive(Rank peer, std::int64_t bytes, std::int64_t tag, std::string_view name,
                      std::span<const OpId> after) {
  flush();
  Op& op = add(OpKind::kReceive, name);
  add_message(op, peer, bytes, tag, after);
  // What it comes after is not read by it: the buffer is free from then on.
  std::swap(op.data_deps, op.control_deps);
  return op.id;
}

OpId Emitter::update(std::string_view name, Work work, std::span<const OpId> after) {
  flush();
  const bool takes_time = recipe_.op_time == Duration{};
  Op& op = add(takes_time ? OpKind::kCompute : OpKind::kNone, name);
  if (takes_time) {
    op.tensor = Bytes{work.bytes};
    op.recorded = duration_of(work);
  }
  op.data_deps.assign(after.begin(), after.end());
  if (last_compute_ != 0) op.control_deps.push_back(last_compute_);
  last_compute_ = op.id;
  return op.id;
}

}  // namespace orrery::workload::generate
