// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A tensor of a simulated device lies in host memory. Its twin is the same memory as a tensor of the CPU, so that the
/// CPU's kernels can work on it; where there is no data, a tensor of device "meta", for the shapes alone. They live for
/// one call of an operator.
///
/// What comes out is either one of the tensors that went in, a view of one, or new; what was written to may have been
/// resized or may have got another storage. Tensors that share a storage have twins that share one.
#include <algorithm>

#include "streams.hpp"

namespace orrery::live::cuda {

/// While one of these lives, the CPU's libraries work for the device: unseen by observers of operators and the clock.
class Kernel {
 public:
  Kernel() { orrery_kernel_begin(); }
  ~Kernel() { orrery_kernel_end(); }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

 private:
  const at::AutoDispatchBelowADInplaceOrView below_autograd_;
  const at::DisableRecordFunctionGuard unseen_;
};

inline bool is_ours(const at::Tensor& tensor) { return tensor.defined() && tensor.is_cuda(); }

/// `impl` as a tensor on another device, with the same memory.
inline at::Tensor seen_as(const at::Tensor& tensor, c10::Storage storage, c10::DispatchKey key) {
  c10::DispatchKeySet keys{key};
  for (const c10::DispatchKey bit : {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}) {
    if (tensor.key_set().has(bit)) keys = keys.add(bit);
  }
  at::Tensor made = at::detail::make_tensor_base<c10::TensorImpl>(std::move(storage), keys, tensor.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                    tensor.storage_offset());
  return made;
}

class Twins {
 public:
  /// Where twins are.
  static c10::DeviceType home() { return is_fake ? c10::kMeta : c10::kCPU; }
  static c10::DispatchKey key() { return is_fake ? c10::DispatchKey::Meta : c10::DispatchKey::CPU; }
  /// The same shape without data, of a tensor that has some.
  static at::Tensor shape_of(const at::Tensor& tensor) {
    return seen_as(tensor, twin_storage(nullptr, tensor.storage().nbytes()), c10::DispatchKey::Meta);
  }

  /// Outputs that are new belong to `device`.
  void set_device(DeviceIndex device) {
    if (device_ < 0) device_ = device;
  }
  [[nodiscard]] DeviceIndex device() const { return device_ < 0 ? this_device : device_; }
  [[nodiscard]] bool is_empty() const { return pairs_.empty(); }

  /// Whether autograd records this call, as one of its tensors wants a gradient.
  [[nodiscard]] bool is_recorded() const {
    return c10::GradMode::is_enabled() &&
           std::ranges::any_of(pairs_, [](const Pair& pair) { return pair.original.requires_grad(); });
  }
  /// Of a call that is recorded: what earlier ones gave belongs to the graph, whoever made its memory. A view's memory
  /// may be a parameter's.
  void mark_graph() const {
    for (const Pair& pair : pairs_) {
      const at::Tensor& tensor = pair.original;
      if (tensor.requires_grad() && !tensor.is_leaf() && !tensor.is_view()) mark(tensor, Part::kActivation);
    }
  }

  at::Tensor to_host(const at::Tensor& tensor, bool is_written) {
    TORCH_CHECK(tensor.layout() == at::kStrided, "orrery --device-map: CUDA tensors of layout ",
                tensor.layout(), " are not simulated");
    for (Pair& pair : pairs_) {
      if (!pair.original.is_same(tensor)) continue;
      pair.is_written = pair.is_written || is_written;
      return pair.twin;
    }
    set_device(tensor.device().index());
    at::Tensor twin = seen_as(tensor, host_storage(tensor.storage()), key());
    pairs_.push_back({tensor, twin, is_written});
    return twin;
  }

  /// A result as the program gets it.
  at::Tensor to_device(const at::Tensor& result) {
    if (!result.defined() || result.device().type() != home()) return result;
    for (const Pair& pair : pairs_) {
      if (pair.twin.is_same(result)) return pair.original;
    }
    return seen_as(result, device_storage(result.storage()), c10::DispatchKey::CUDA);
  }

  /// After the call: what was written to is what its twin has become.
  void settle() {
    for (const Pair& pair : pairs_) {
      if (!pair.is_written) continue;
      c10::TensorImpl* const impl = pair.original.unsafeGetTensorImpl();
      const c10::Storage storage = device_storage(pair.twin.storage());
      if (!impl->storage().is_alias_of(storage)) impl->set_storage_keep_dtype(storage);
      const bool is_moved = impl->sizes() != pair.twin.sizes() || impl->strides() != pair.twin.strides() ||
                            impl->storage_offset() != pair.twin.storage_offset();
      if (is_moved) {
        impl->set_sizes_and_strides(pair.twin.sizes(), pair.twin.strides(), pair.twin.storage_offset());
      }
    }
    for (const Shared& shared : storages_) give_back(shared);
  }

 private:
  struct Pair {
    at::Tensor original;
    at::Tensor twin;
    bool is_written;
  };
  struct Shared {
    c10::Storage original;
    c10::Storage twin;
    const void* address;
  };

  c10::Storage host_storage(const c10::Storage& original) {
    for (const Shared& shared : storages_) {
      if (shared.original.is_alias_of(original)) return shared.twin;
    }
    void* const address = is_fake ? nullptr : original.mutable_data();
    c10::Storage twin = twin_storage(address, original.nbytes());
    storages_.push_back({original, twin, address});
    return twin;
  }

  c10::Storage device_storage(const c10::Storage& storage) {
    for (const Shared& shared : storages_) {
      if (shared.twin.is_alias_of(storage)) return shared.original;
    }
    // New. Whoever else has it (a view among the results) finds it by the twin.
    const auto bytes = static_cast<std::int64_t>(storage.nbytes());
    c10::DataPtr memory = is_fake ? host_memory(storage.nbytes()) : kept_memory(storage);
    c10::Storage made{c10::Storage::use_byte_size_t{}, storage.nbytes(),
                      on_device(std::move(memory), device(), bytes), &DeviceAllocator::instance(),
                      /*resizable=*/true};
    storages_.push_back({made, storage, storage.data()});
    return made;
  }

  static c10::Storage twin_storage(void* address, std::size_t bytes) {
    return {c10::Storage::use_byte_size_t{}, bytes, c10::DataPtr{address, c10::Device{home()}},
            c10::GetAllocator(home()), /*resizable=*/true};
  }

  static c10::DataPtr kept_memory(const c10::Storage& storage) {
    auto* const held = new c10::Storage{storage};
    return {storage.mutable_data(), held, [](void* kept) { delete static_cast<c10::Storage*>(kept); },
            c10::Device{c10::kCPU}};
  }

  /// An operator may have resized the twin's storage: the memory is then new.
  void give_back(const Shared& shared) const {
    c10::StorageImpl* const twin = shared.twin.unsafeGetStorageImpl();
    c10::StorageImpl* const original = shared.original.unsafeGetStorageImpl();
    const bool is_moved = is_fake ? twin->nbytes() != original->nbytes() : twin->data() != shared.address;
    if (is_moved) {
      const MemoryBlock* const block = block_of(shared.original);
      const PartScope scope{block != nullptr ? std::max(block->part, present_part) : present_part};
      const std::size_t bytes = twin->nbytes();
      c10::DataPtr memory =
          is_fake ? host_memory(bytes) : twin->set_data_ptr(c10::DataPtr{nullptr, c10::Device{c10::kCPU}});
      original->set_data_ptr_noswap(
          on_device(std::move(memory), original->device().index(), static_cast<std::int64_t>(bytes)));
    }
    original->set_nbytes(twin->nbytes());
  }

  std::vector<Pair> pairs_;
  std::vector<Shared> storages_;
  DeviceIndex device_ = -1;
};

}  // namespace orrery::live::cuda
