// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Operators that are not the CPU's on twins: making tensors, copies between devices, storages.
#include <ATen/EmptyTensor.h>

#include "fallback.hpp"

namespace orrery::live::cuda {

using Sizes = c10::IntArrayRef;
using OptionalType = std::optional<c10::ScalarType>;

inline at::Tensor empty(Sizes sizes, OptionalType dtype, std::optional<c10::Layout> layout,
                        std::optional<Device> device, std::optional<bool> pin,
                        std::optional<c10::MemoryFormat> format) {
  TORCH_CHECK(!pin.value_or(false), "Only dense CPU tensors can be pinned");
  TORCH_CHECK(layout.value_or(c10::kStrided) == c10::kStrided, "orrery --device-map: CUDA tensors of layout ",
              *layout, " are not simulated");
  const c10::DeviceGuard guard{Device{c10::kCUDA, checked(device ? device->index() : DeviceIndex{-1})}};
  return at::detail::empty_generic(sizes, &DeviceAllocator::instance(),
                                   c10::DispatchKeySet{c10::DispatchKey::CUDA}, c10::dtype_or_default(dtype),
                                   format);
}

inline at::Tensor empty_strided(Sizes sizes, Sizes strides, OptionalType dtype,
                                std::optional<c10::Layout> /*layout*/, std::optional<Device> device,
                                std::optional<bool> /*pin*/) {
  const c10::DeviceGuard guard{Device{c10::kCUDA, checked(device ? device->index() : DeviceIndex{-1})}};
  return at::detail::empty_strided_generic(sizes, strides, &DeviceAllocator::instance(),
                                           c10::DispatchKeySet{c10::DispatchKey::CUDA},
                                           c10::dtype_or_default(dtype));
}

/// The host waits for a copy to or from it, unless the program says that it need not.
inline at::Tensor& copy(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (self.is_same(source)) return self;
  orrery_queue_work();
  const bool crosses = is_ours(self) != is_ours(source);
  const bool is_kept = is_fake && !is_ours(self);
  if (is_kept && !keeps_host_values) refuse_values("a copy from the device to the host");
  if (!is_kept) {
    Twins twins;
    const Kernel kernel;
    at::Tensor to = is_ours(self) ? twins.to_host(self, false) : self;
    const at::Tensor from = is_fake && !is_ours(source) ? Twins::shape_of(source) : source;
    to.copy_(is_ours(from) ? twins.to_host(from, false) : from);
  }
  if (crosses && !non_blocking) wait_for_stream();
  return self;
}

inline at::Tensor& set_storage(at::Tensor& self, at::Storage source, std::int64_t offset, Sizes sizes,
                               Sizes strides) {
  c10::TensorImpl* const impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(source));
  std::vector<std::int64_t> dense(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) dense[i - 1] = dense[i] * std::max<std::int64_t>(sizes[i], 1);
  impl->set_sizes_and_strides(sizes, strides.size() == sizes.size() ? strides : Sizes{dense}, offset);
  return self;
}

inline at::Tensor& set_whole_storage(at::Tensor& self, at::Storage source) {
  const auto count = static_cast<std::int64_t>(source.nbytes() / self.dtype().itemsize());
  return set_storage(self, std::move(source), 0, {count}, {1});
}

inline at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  return set_storage(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

inline at::Tensor& set_nothing(at::Tensor& self) {
  c10::Storage nothing{c10::Storage::use_byte_size_t{}, 0, DeviceAllocator::instance().allocate(0),
                       &DeviceAllocator::instance(), true};
  return set_storage(self, std::move(nothing), 0, {0}, {1});
}

inline bool is_pinned(const at::Tensor& /*self*/, std::optional<Device> /*device*/) { return false; }

inline void record_stream(at::Tensor& /*self*/, c10::Stream /*stream*/) {}

/// Attention is one kernel of the device where it has one; the CPU's fused one stands for it.
inline std::int64_t attention_choice(const at::Tensor& query, const at::Tensor& /*key*/,
                                     const at::Tensor& /*value*/, const std::optional<at::Tensor>& /*mask*/,
                                     double /*dropout*/, bool /*causal*/, std::optional<double> /*scale*/,
                                     bool /*gqa*/) {
  constexpr std::int64_t kMath = 0;
  static_cast<void>(query);
  return kMath;
}

/// The storage's memory becomes `bytes` long; what fits is kept.
inline void resize_storage(const c10::Storage& storage, std::int64_t bytes) {
  c10::StorageImpl* const impl = storage.unsafeGetStorageImpl();
  const std::size_t kept = std::min(impl->nbytes(), static_cast<std::size_t>(bytes));
  const c10::DeviceGuard guard{impl->device()};
  const MemoryBlock* const block = block_of(storage);
  const PartScope scope{block != nullptr ? block->part : present_part};
  c10::DataPtr memory = DeviceAllocator::instance().allocate(static_cast<std::size_t>(bytes));
  if (!is_fake && kept > 0 && impl->data() != nullptr) std::memcpy(memory.get(), impl->data(), kept);
  impl->set_data_ptr_noswap(std::move(memory));
  impl->set_nbytes(static_cast<std::size_t>(bytes));
}

}  // namespace orrery::live::cuda
