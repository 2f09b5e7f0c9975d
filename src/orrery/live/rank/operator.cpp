// SPDX-License-Identifier: Apache-2.0
// Operators of the program, as the bridge to torch tells them.
#include <cstring>
#include <string_view>
#include <vector>

#include "orrery/device/torch_names.hpp"
#include "orrery/device/torch_operator.hpp"
#include "orrery/live/rank/session.hpp"

namespace orrery::live {
namespace {

void read_shapes(const orrery_tensor* tensors, std::size_t count, std::vector<device::TensorShape>& shapes) {
  shapes.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const orrery_tensor& tensor = tensors[i];
    shapes.push_back({.sizes = {tensor.sizes, tensor.dims},
                      .type = tensor.dtype,
                      .element = tensor.element,
                      .argument = tensor.argument,
                      .is_dense = tensor.is_dense != 0,
                      .distinct = tensor.distinct});
  }
}

void count(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// Adds it to the list unless it is there, or the list is full.
void name_unknown(OperatorCounts& counts, std::string_view name) {
  const std::string_view named{counts.unknown_names};
  for (std::size_t at = named.find(name); at != std::string_view::npos; at = named.find(name, at + 1)) {
    const bool begins = at == 0 || named[at - 1] == ' ';
    const bool ends = at + name.size() == named.size() || named[at + name.size()] == ' ';
    if (begins && ends) return;
  }
  if (named.size() + name.size() + 2 > sizeof counts.unknown_names) return;
  char* const end = counts.unknown_names + named.size();
  if (!named.empty()) *end = ' ';
  std::memcpy(end + (named.empty() ? 0 : 1), name.data(), name.size());
}

}  // namespace
}  // namespace orrery::live

using namespace orrery::live;

void orrery_operator_ran(const orrery_operator* op) {
  Session* const self = session();
  if (self == nullptr || self->meter().model() == nullptr) return;
  // Only the program's thread comes here, and never from within itself.
  thread_local std::vector<orrery::device::TensorShape> inputs;
  thread_local std::vector<orrery::device::TensorShape> outputs;
  read_shapes(op->inputs, op->input_count, inputs);
  read_shapes(op->outputs, op->output_count, outputs);
  const orrery::device::Operator known = orrery::device::classify({.name = op->name,
                                                                   .inputs = inputs,
                                                                   .outputs = outputs,
                                                                   .flag = op->flag != 0,
                                                                   .allows_tf32 = op->allows_tf32 != 0});
  const orrery::device::CostSource source = self->meter().operator_ran(known);
  OperatorCounts& counts = self->operator_counts();
  count(counts.all);
  if (source == orrery::device::CostSource::kExtrapolated) count(counts.extrapolated);
  if (source != orrery::device::CostSource::kUnknown) return;
  count(counts.unknown);
  name_unknown(counts, known.name);
}

int orrery_is_kernel(const char* name) {
  Session* const self = session();
  if (self == nullptr || self->meter().model() == nullptr) return 0;
  return self->meter().model()->rates().is_asynchronous && orrery::device::is_fused_kernel(name) ? 1 : 0;
}
