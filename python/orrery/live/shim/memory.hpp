// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tensors to and from flat memory: row-major, no gaps. Dense tensors on the CPU are one memcpy, everything else
/// (strides, conjugation, other devices) one copy_() of torch.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "orrery_rank.h"
#include "torch.hpp"

namespace orrery::live::shim {

inline std::int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.numel() * static_cast<std::int64_t>(tensor.element_size());
}

inline std::int64_t bytes_of(const Tensors& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                         [](std::int64_t sum, const at::Tensor& tensor) { return sum + bytes_of(tensor); });
}

/// Tensors of a simulated device lie in this host's memory.
inline bool is_simulated(const at::Tensor& tensor) { return tensor.is_cuda() && orrery_has_queues() != 0; }

/// Whether its memory is its flat form.
inline bool is_flat(const at::Tensor& tensor) {
  return (tensor.is_cpu() || is_simulated(tensor)) && tensor.is_contiguous() && !tensor.is_conj() &&
         !tensor.is_neg();
}

/// Flat memory of somebody else, seen as a tensor like `tensor`.
inline at::Tensor view_as(const at::Tensor& tensor, void* flat) {
  return at::from_blob(flat, tensor.sizes(), at::TensorOptions{}.dtype(tensor.dtype()).device(at::kCPU));
}

/// Data is moved below autograd, as kernels of a real backend do.
inline void copy_in(void* flat, const at::Tensor& tensor) {
  if (tensor.numel() == 0) return;
  if (is_flat(tensor)) {
    std::memcpy(flat, tensor.const_data_ptr(), static_cast<std::size_t>(bytes_of(tensor)));
    return;
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  view_as(tensor, flat).copy_(tensor, /*non_blocking=*/true);
}

/// Pages of results that the program had not touched before they came: new memory costs its owner's first touch, which
/// a real network's thread does while the operation lasts.
class FreshPages {
 public:
  /// Results are about to be written here.
  static void look(const void* memory, std::int64_t bytes) {
    constexpr std::int64_t kLeast = 1 << 16;  // Less is not worth a system call.
    if (bytes < kLeast || orrery_is_measured() == 0) return;
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory) / page * page;
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(memory) + static_cast<std::uintptr_t>(bytes);
    resident_.resize((end - begin + page - 1) / page);
    if (::mincore(reinterpret_cast<void*>(begin), end - begin, resident_.data()) != 0) return;
    for (const unsigned char flags : resident_) count_ += (flags & 1U) == 0 ? 1 : 0;
  }
  /// Since the last time.
  static std::uint64_t take() { return std::exchange(count_, 0); }

 private:
  static inline thread_local std::uint64_t count_ = 0;
  static inline thread_local std::vector<unsigned char> resident_;
};

inline void copy_out(const at::Tensor& tensor, const void* flat) {
  if (tensor.numel() == 0) return;
  if (is_flat(tensor)) {
    FreshPages::look(tensor.const_data_ptr(), bytes_of(tensor));
    std::memcpy(tensor.mutable_data_ptr(), flat, static_cast<std::size_t>(bytes_of(tensor)));
    return;
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  tensor.copy_(view_as(tensor, const_cast<void*>(flat)), /*non_blocking=*/true);
}

/// A message shorter than the tensor fills its beginning, as gloo has it.
inline void copy_out_front(const at::Tensor& tensor, const void* flat, std::int64_t bytes) {
  if (bytes == bytes_of(tensor)) return copy_out(tensor, flat);
  const at::AutoDispatchBelowADInplaceOrView guard;
  const at::Tensor whole = tensor.contiguous();
  std::memcpy(whole.mutable_data_ptr(), flat, static_cast<std::size_t>(bytes));
  if (!whole.is_same(tensor)) tensor.copy_(whole);
}

/// The flat form of a tensor, to be written in pieces: its own memory, or a buffer that finish() copies back.
class Target {
 public:
  explicit Target(const at::Tensor& tensor) : tensor_{tensor} {
    if (is_flat(tensor)) {
      FreshPages::look(tensor.const_data_ptr(), bytes_of(tensor));
      return;
    }
    const at::AutoDispatchBelowADInplaceOrView guard;
    buffer_ = at::empty(tensor.sizes(), at::TensorOptions{}.dtype(tensor.dtype()).device(at::kCPU));
  }
  char* data() { return static_cast<char*>((buffer_.defined() ? buffer_ : tensor_).mutable_data_ptr()); }
  void finish() {
    if (buffer_.defined()) copy_out(tensor_, buffer_.const_data_ptr());
  }

 private:
  at::Tensor tensor_;
  at::Tensor buffer_;
};

}  // namespace orrery::live::shim
