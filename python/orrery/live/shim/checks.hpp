// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What gloo and NCCL refuse, refused here with the same exception (RuntimeError) and, where scripts look, text.
#include <string>

#include "memory.hpp"
#include "torch.hpp"

namespace orrery::live::shim {

/// Prefixes every complaint with the call's name, as "all_reduce: ...".
class Checks {
 public:
  explicit Checks(const char* name) : name_{name} {}

  template <class... Text>
  void require(bool condition, const Text&... text) const {
    TORCH_CHECK(condition, "orrery::", name_, ": ", text...);
  }
  void root(std::int64_t rank, int size) const {
    require(rank >= 0 && rank < size, "invalid root rank: ", rank);
  }
  void dense(const at::Tensor& tensor) const {
    require(tensor.defined() && tensor.layout() == at::kStrided, "only supports dense tensors");
  }
  void dense(const Tensors& tensors) const {
    for (const at::Tensor& tensor : tensors) dense(tensor);
  }
  const at::Tensor& single(const Tensors& tensors, const char* which = "") const {
    require(tensors.size() == 1, "requires a single-element ", which, "tensor list");
    dense(tensors[0]);
    return tensors[0];
  }
  void not_empty(const Tensors& tensors) const {
    require(!tensors.empty(), "requires non-empty tensor list");
    dense(tensors);
  }
  void same_type(const at::Tensor& expected, const at::Tensor& tensor, std::size_t index) const {
    require(tensor.scalar_type() == expected.scalar_type(), "invalid tensor type at index ", index,
            " (expected ", expected.scalar_type(), ", got ", tensor.scalar_type(), ")");
  }
  void same_type(const at::Tensor& expected, const Tensors& tensors) const {
    dense(tensors);
    for (std::size_t i = 0; i < tensors.size(); ++i) same_type(expected, tensors[i], i);
  }
  void same_size(const at::Tensor& expected, const at::Tensor& tensor, std::size_t index) const {
    require(tensor.numel() == expected.numel(), "invalid tensor size at index ", index, " (expected ",
            expected.sizes(), ", got ", tensor.sizes(), ")");
  }
  /// One list with one tensor per member.
  const Tensors& list_of(const std::vector<Tensors>& lists, int size, const char* which) const {
    require(lists.size() == 1, "requires a single-element ", which, " list containing a list with ", size,
            " tensors.");
    require(lists[0].size() == static_cast<std::size_t>(size), "Incorrect ", which, " list size ",
            lists[0].size(), ". ", which, " list size should be ", size,
            ", same as size of the process group.");
    return lists[0];
  }
  void times(const at::Tensor& whole, const at::Tensor& part, int size, const char* text) const {
    dense(whole);
    dense(part);
    require(whole.scalar_type() == part.scalar_type(),
            "output tensor must have the same type as input tensor");
    require(whole.numel() == part.numel() * size, text);
  }

 private:
  const char* name_;
};

}  // namespace orrery::live::shim
