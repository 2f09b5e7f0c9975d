// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which operators after a wait need what came from other ranks: the others could run while it travels.
///
/// Every element that came from another rank is marked, and marks follow the data: an operator that reads marked
/// elements is computed a second time with NaN in their place, and what is NaN in its result is marked. So a rule per
/// operator is not needed, and rows that a matrix product keeps apart stay apart. Marks are kept per element of a
/// storage, so views need no rule either. What cannot be told (integers, random numbers) counts as marked.
///
/// From the end of a wait to the next post, operators are of three kinds: without marks in the result (independent),
/// with some (the rest can be had before, by computing that part first), with marks only.
#include <ATen/core/dispatch/Dispatcher.h>

#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "dataflow_file.hpp"
#include "rank.hpp"
#include "where.hpp"

namespace orrery::live::shim {

class Dataflow {
 public:
  /// What an operator's end needs to know of its beginning.
  struct Context final : at::ObserverContext {
    Context(std::uint64_t operator_key, std::string_view operator_name)
        : key{operator_key}, name{operator_name} {}
    std::uint64_t key;
    std::string_view name;
    bool is_mutable = false;                               ///< It changes an argument.
    bool is_marked = false;                                ///< Some input is.
    std::unordered_set<const c10::StorageImpl*> storages;  ///< Of the inputs.
    std::vector<std::optional<at::Tensor>> masks;  ///< Of the outputs, in order; none: nothing is known.
    std::vector<std::pair<at::Tensor, at::Tensor>> written;  ///< Arguments it changes, and their masks.
    std::vector<std::size_t> parts;                          ///< Partial operators whose results it reads.
  };

  static Dataflow& instance() {
    static auto* dataflow = new Dataflow;
    return *dataflow;
  }
  static bool is_on() { return is_on_; }
  static void turn_on() { is_on_ = true; }

  /// The program has waited for an operation: `outputs` came from others but for the bytes [own_begin, own_end).
  void arrive(std::uint64_t handle, const Tensors& outputs, std::int64_t own_begin, std::int64_t own_end) {
    const Silence silence;
    forget();
    window_ = nullptr;
    std::int64_t at = 0;
    for (const at::Tensor& output : outputs) {
      if (!at::isFloatingType(output.scalar_type()) || output.layout() != at::kStrided) return forget();
      const auto bytes = static_cast<std::int64_t>(output.nbytes());
      at::Tensor mask = at::ones(output.sizes(), at::kBool);
      clear_bytes(mask, output, own_begin - at, own_end - at);
      mark(output, mask);
      at += bytes;
    }
    if (at > 0) window_ = &windows_.emplace_back(handle);
  }
  /// Nothing after this is said to be independent: it may need the operation that is posted.
  void close() {
    window_ = nullptr;
    forget();
  }

  std::unique_ptr<Context> begin(const at::RecordFunction& function, std::uint64_t key) {
    if (window_ == nullptr) return nullptr;
    const Silence silence;
    auto context = std::make_unique<Context>(key, function.name());
    const auto handle = handle_of(function);
    context->is_mutable = !handle || handle->schema().is_mutable();
    for_each_tensor(function.inputs(), [&](const at::Tensor& tensor) {
      context->storages.insert(storage_of(tensor));
      if (is_marked(tensor)) context->is_marked = true;
      const auto part = part_of_.find(storage_of(tensor));
      if (part != part_of_.end()) context->parts.push_back(part->second);
    });
    if (context->is_marked) follow(function, *context);
    return context;
  }

  void end(const at::RecordFunction& function, Context& context) {
    if (window_ == nullptr) return;
    const Silence silence;
    Tensors outputs;
    const auto results = function.outputs();
    for_each_tensor(results, [&](const at::Tensor& tensor) { outputs.push_back(tensor); });
    const bool is_read_by_host = outputs.empty() && context.written.empty();  // item(): control flow.
    if (context.is_marked && is_read_by_host) return close();
    if (is_view(context, outputs)) return;
    std::int64_t all = 0;
    std::int64_t marked = 0;
    const auto count = [&](const at::Tensor& tensor, const std::optional<at::Tensor>& mask) {
      all += tensor.numel();
      if (!context.is_marked || tensor.numel() == 0) return;
      const bool is_known = mask && mask->sizes() == tensor.sizes();
      const at::Tensor known = is_known ? *mask : at::ones(tensor.sizes(), at::kBool);
      marked += known.sum().item<std::int64_t>();
      mark(tensor, known);
    };
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const bool has_mask = i < context.masks.size();
      count(outputs[i], has_mask ? context.masks[i] : std::nullopt);
    }
    for (const auto& [tensor, mask] : context.written) count(tensor, mask);
    record(context, outputs, all, marked);
  }

  [[nodiscard]] const std::deque<DataflowWindow>& windows() const { return windows_; }

 private:
  /// The second computation is nobody's: not charged, not seen by observers, without gradients.
  struct Silence {
    Pause pause;
    at::DisableRecordFunctionGuard unseen;
    at::NoGradGuard no_grad;
  };
  /// Of a storage: one bool per element.
  struct Marks {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    at::Tensor flat;
    std::int64_t element;
  };
  /// An operator whose result is marked in part.
  struct Part {
    std::uint64_t key;
    double share;  ///< Not marked.
    std::vector<std::size_t> parts;
    bool is_counted = false;
  };

  template <class Values, class Function>
  static void for_each_tensor(const Values& values, const Function& function) {
    for (const c10::IValue& value : values) {
      if (value.isTensor()) {
        if (value.toTensor().defined()) function(value.toTensor());
      } else if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector()) {
          if (tensor.defined()) function(tensor);
        }
      } else if (value.isList()) {
        for (const c10::IValue& item : value.toListRef()) {
          if (item.isTensor() && item.toTensor().defined()) function(item.toTensor());
        }
      }
    }
  }

  static const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
    const bool has_one = tensor.layout() == at::kStrided && tensor.has_storage();
    return has_one ? tensor.storage().unsafeGetStorageImpl() : nullptr;
  }

  void forget() {
    marks_.clear();
    part_of_.clear();
    parts_.clear();
  }

  const Marks* marks_of(const at::Tensor& tensor) {
    const auto found = marks_.find(storage_of(tensor));
    if (found == marks_.end()) return nullptr;
    if (!found->second.storage.expired()) return &found->second;
    marks_.erase(found);
    return nullptr;
  }

  /// Empty: nothing of it is marked.
  std::optional<at::Tensor> mask_of(const at::Tensor& tensor) {
    const Marks* const marks = marks_of(tensor);
    if (marks == nullptr || tensor.numel() == 0) return {};
    if (marks->element != static_cast<std::int64_t>(tensor.element_size())) {
      if (!marks->flat.any().item<bool>()) return {};
      return at::ones(tensor.sizes(), at::kBool);
    }
    const at::Tensor mask = marks->flat.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
    if (!mask.any().item<bool>()) return {};
    return mask;
  }
  bool is_marked(const at::Tensor& tensor) { return mask_of(tensor).has_value(); }

  void mark(const at::Tensor& tensor, const at::Tensor& mask) {
    const c10::StorageImpl* const storage = storage_of(tensor);
    if (storage == nullptr || tensor.numel() == 0) return;
    const Marks* known = marks_of(tensor);
    if (known == nullptr) {
      if (!mask.any().item<bool>()) return;
      const auto element = static_cast<std::int64_t>(tensor.element_size());
      const auto elements = static_cast<std::int64_t>(tensor.storage().nbytes()) / element;
      Marks fresh{c10::weak_intrusive_ptr<c10::StorageImpl>{tensor.storage().getWeakStorageImpl()},
                  at::zeros({elements}, at::kBool), element};
      known = &marks_.insert_or_assign(storage, std::move(fresh)).first->second;
    }
    if (known->element != static_cast<std::int64_t>(tensor.element_size())) {
      known->flat.fill_(true);
    } else {
      known->flat.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset()).copy_(mask);
    }
  }

  /// Bytes [begin, end) of a tensor, in the order of its elements, are this rank's own.
  static void clear_bytes(at::Tensor& mask, const at::Tensor& tensor, std::int64_t begin, std::int64_t end) {
    const auto element = static_cast<std::int64_t>(tensor.element_size());
    begin = std::clamp<std::int64_t>(begin / element, 0, tensor.numel());
    end = std::clamp<std::int64_t>(end / element, 0, tensor.numel());
    if (begin < end) mask.view({-1}).narrow(0, begin, end - begin).fill_(false);
  }

  static std::optional<c10::OperatorHandle> handle_of(const at::RecordFunction& function) {
    const auto name = function.operator_name();
    return name ? c10::Dispatcher::singleton().findSchema(*name) : std::nullopt;
  }

  /// It computes nothing, and marks are where they were.
  static bool is_view(const Context& context, const Tensors& outputs) {
    if (context.is_mutable || outputs.empty()) return false;
    return std::all_of(outputs.begin(), outputs.end(), [&](const at::Tensor& output) {
      return storage_of(output) != nullptr && context.storages.contains(storage_of(output));
    });
  }

  /// Computes the operator with NaN for what is marked.
  void follow(const at::RecordFunction& function, Context& context) {
    const auto handle = handle_of(function);
    if (!handle || handle->hasTag(at::Tag::nondeterministic_seeded)) return;
    const auto& arguments = handle->schema().arguments();
    const auto inputs = function.inputs();
    if (inputs.size() != arguments.size()) return;
    try {
      torch::jit::Stack stack;
      std::vector<std::pair<at::Tensor, at::Tensor>> written;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto* alias = arguments[i].alias_info();
        stack.push_back(poison(inputs[i], alias != nullptr && alias->isWrite(), written));
      }
      handle->callBoxed(stack);
      for_each_tensor(stack, [&](const at::Tensor& tensor) { context.masks.emplace_back(nan_of(tensor)); });
      for (const auto& [tensor, copy] : written) context.written.emplace_back(tensor, nan_of(copy));
    } catch (const std::exception&) {
      context.masks.clear();  // Not made for such inputs: then everything is marked.
      context.written.clear();
    }
  }

  c10::IValue poison(const c10::IValue& value, bool is_written,
                     std::vector<std::pair<at::Tensor, at::Tensor>>& written) {
    const auto one = [&](const at::Tensor& tensor) {
      if (!tensor.defined()) return tensor;
      const auto mask = mask_of(tensor);
      if (!mask && !is_written) return tensor;
      at::Tensor copy = tensor.clone();
      if (mask) {
        TORCH_CHECK(at::isFloatingType(tensor.scalar_type()), "no NaN among integers");
        copy.masked_fill_(*mask, std::numeric_limits<double>::quiet_NaN());
      }
      if (is_written) written.emplace_back(tensor, copy);
      return copy;
    };
    if (value.isTensor()) return one(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(one(tensor));
      return list;
    }
    return value;
  }

  static at::Tensor nan_of(const at::Tensor& tensor) {
    const bool is_floating = at::isFloatingType(tensor.scalar_type());
    return is_floating ? at::isnan(tensor) : at::ones(tensor.sizes(), at::kBool);
  }

  void record(const Context& context, const Tensors& outputs, std::int64_t all, std::int64_t marked) {
    if (marked == 0) {
      window_->add_independent(context.key, place_of(context.name));
      for (const std::size_t part : context.parts) need(part);
    } else if (marked < all) {
      const double share = 1 - static_cast<double>(marked) / static_cast<double>(all);
      parts_.push_back({context.key, share, context.parts});
      for (const at::Tensor& output : outputs) part_of_[storage_of(output)] = parts_.size() - 1;
    }
  }

  /// "linear at model.py:31".
  static std::string place_of(std::string_view name) {
    const std::size_t space = name.rfind(':');
    const std::string line{Where::here().line};
    const std::string_view bare = space == std::string_view::npos ? name : name.substr(space + 1);
    return std::string{bare} + (line.empty() ? "" : " at " + line);
  }

  /// A part of this operator's result is wanted early: it is computed twice, once for that part.
  void need(std::size_t index) {
    Part& part = parts_[index];
    if (std::exchange(part.is_counted, true)) return;
    window_->add_again(part.key, part.share);
    for (const std::size_t before : part.parts) need(before);
  }

  static inline bool is_on_ = false;
  std::deque<DataflowWindow> windows_;
  DataflowWindow* window_ = nullptr;  ///< Open now.
  std::unordered_map<const c10::StorageImpl*, Marks> marks_;
  std::unordered_map<const c10::StorageImpl*, std::size_t> part_of_;
  std::vector<Part> parts_;
};

}  // namespace orrery::live::shim
