// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reductions of flat buffers: a fold over the members 0..n-1 in the tensors' own type, rounded at every step, so
/// that the result depends on neither timing nor algorithm. A real ring adds in another order: last bits may differ.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <type_traits>

#include "torch.hpp"

namespace orrery::live::shim {

using Reduction = c10d::ReduceOp::RedOpType;

template <class T>
inline constexpr bool kIsComplex = c10::is_complex<T>::value;
template <class T>
inline constexpr bool kIsInteger = std::is_integral_v<T>;

/// Calls `function` with a value of the C++ type; false when there is none to compute with.
template <class Function>
bool with_type(at::ScalarType type, Function&& function) {
  switch (type) {
    case at::kFloat:
      function(float{});
      return true;
    case at::kDouble:
      function(double{});
      return true;
    case at::kHalf:
      function(at::Half{});
      return true;
    case at::kBFloat16:
      function(at::BFloat16{});
      return true;
    case at::kFloat8_e4m3fn:
      function(at::Float8_e4m3fn{});
      return true;
    case at::kFloat8_e5m2:
      function(at::Float8_e5m2{});
      return true;
    case at::kFloat8_e4m3fnuz:
      function(at::Float8_e4m3fnuz{});
      return true;
    case at::kFloat8_e5m2fnuz:
      function(at::Float8_e5m2fnuz{});
      return true;
    case at::kBool:
      function(bool{});
      return true;
    case at::kByte:
      function(std::uint8_t{});
      return true;
    case at::kChar:
      function(std::int8_t{});
      return true;
    case at::kShort:
      function(std::int16_t{});
      return true;
    case at::kInt:
      function(std::int32_t{});
      return true;
    case at::kLong:
      function(std::int64_t{});
      return true;
    case at::kUInt16:
      function(std::uint16_t{});
      return true;
    case at::kUInt32:
      function(std::uint32_t{});
      return true;
    case at::kUInt64:
      function(std::uint64_t{});
      return true;
    case at::kComplexFloat:
      function(c10::complex<float>{});
      return true;
    case at::kComplexDouble:
      function(c10::complex<double>{});
      return true;
    default:
      return false;
  }
}

/// Refuses what has no meaning, in the words of gloo where it has any.
inline void check_reduction(Reduction reduction, at::ScalarType type) {
  const bool is_bitwise =
      reduction == Reduction::BAND || reduction == Reduction::BOR || reduction == Reduction::BXOR;
  const bool is_ordered = reduction == Reduction::MIN || reduction == Reduction::MAX;
  TORCH_CHECK(reduction != Reduction::UNUSED, "Unhandled ReduceOp");
  TORCH_CHECK(!is_bitwise || at::isIntegralType(type, /*includeBool=*/true), "Cannot use ReduceOp.",
              reduction == Reduction::BAND ? "BAND" : (reduction == Reduction::BOR ? "BOR" : "BXOR"),
              " with non-integral dtype");
  TORCH_CHECK(!is_ordered || !at::isComplexType(type), "Cannot use ReduceOp.MIN or MAX with complex dtype");
  TORCH_CHECK(reduction != Reduction::AVG || type != at::kBool,
              "Cannot use ReduceOp.AVG with Boolean inputs");
  TORCH_CHECK(with_type(type, [](auto) {}), "Invalid scalar type: cannot reduce tensors of type ", type);
}

/// The sum of two, wrapping for integers as the hardware does; for booleans it is "or".
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (kIsInteger<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return static_cast<T>(a + b);
  }
}

template <class T>
T product_of(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (kIsInteger<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return static_cast<T>(a * b);
  }
}

/// The lesser, or the greater with `kGreater`; a NaN wins over everything, as in torch.minimum().
template <bool kGreater, class T>
T extreme_of(T a, T b) {
  if constexpr (kIsComplex<T>) {
    return a;  // Refused by check_reduction().
  } else if constexpr (kIsInteger<T>) {
    return kGreater ? (a < b ? b : a) : (b < a ? b : a);
  } else {
    const auto left =
        static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(a));
    const auto right =
        static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(b));
    if (std::isnan(left)) return a;
    if (std::isnan(right)) return b;
    return kGreater ? (left < right ? b : a) : (right < left ? b : a);
  }
}

/// bfloat16 by hand: two shifts and a rounding, which compilers make into vector code.
inline void add_bfloat16(std::uint16_t* __restrict into, const std::uint16_t* __restrict from,
                         std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float sum = std::bit_cast<float>(static_cast<std::uint32_t>(into[i]) << 16) +
                      std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
    const auto bits = std::bit_cast<std::uint32_t>(sum);
    const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    into[i] = static_cast<std::uint16_t>(sum != sum ? 0x7fc0U : rounded);
  }
}

/// float16 by torch, which converts with instructions that compilers do not choose by themselves.
inline void add_float16(at::Half* into, const at::Half* from, std::size_t count) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  const auto size = static_cast<std::int64_t>(count);
  at::from_blob(into, {size}, at::kHalf).add_(at::from_blob(const_cast<at::Half*>(from), {size}, at::kHalf));
}

template <class T, class Function>
void for_each_pair(T* __restrict into, const T* __restrict from, std::size_t count, Function function) {
  for (std::size_t i = 0; i < count; ++i) into[i] = function(into[i], from[i]);
}

template <class T>
void fold_into(Reduction reduction, T* into, const T* from, std::size_t count) {
  switch (reduction) {
    case Reduction::SUM:
    case Reduction::AVG:
    case Reduction::PREMUL_SUM:
      if constexpr (std::is_same_v<T, at::BFloat16>) {
        add_bfloat16(reinterpret_cast<std::uint16_t*>(into), reinterpret_cast<const std::uint16_t*>(from),
                     count);
      } else if constexpr (std::is_same_v<T, at::Half>) {
        add_float16(into, from, count);
      } else {
        for_each_pair(into, from, count, [](T a, T b) { return sum_of(a, b); });
      }
      return;
    case Reduction::PRODUCT:
      for_each_pair(into, from, count, [](T a, T b) { return product_of(a, b); });
      return;
    case Reduction::MIN:
      for_each_pair(into, from, count, [](T a, T b) { return extreme_of<false>(a, b); });
      return;
    case Reduction::MAX:
      for_each_pair(into, from, count, [](T a, T b) { return extreme_of<true>(a, b); });
      return;
    default:
      break;
  }
  if constexpr (kIsInteger<T>) {
    const auto cast = [](auto value) { return static_cast<T>(value); };
    if (reduction == Reduction::BAND) for_each_pair(into, from, count, [&](T a, T b) { return cast(a & b); });
    if (reduction == Reduction::BOR) for_each_pair(into, from, count, [&](T a, T b) { return cast(a | b); });
    if (reduction == Reduction::BXOR) for_each_pair(into, from, count, [&](T a, T b) { return cast(a ^ b); });
  }
}

/// The last step of an average: divided once, after the sum; integers towards zero.
template <class T>
void divide(T* values, std::size_t count, std::size_t divisor) {
  if constexpr (std::is_same_v<T, bool>) {
    static_cast<void>(values);
  } else if constexpr (kIsInteger<T>) {
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(values[i] / static_cast<T>(divisor));
  } else if constexpr (std::is_same_v<T, at::Half>) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    at::from_blob(values, {static_cast<std::int64_t>(count)}, at::kHalf).div_(static_cast<double>(divisor));
  } else if constexpr (kIsComplex<T>) {
    const auto real = static_cast<typename T::value_type>(divisor);
    for (std::size_t i = 0; i < count; ++i) values[i] = values[i] / real;
  } else {
    const auto real = static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(divisor);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(values[i] / real);
  }
}

/// Multiplies a member's own contribution, for PREMUL_SUM.
inline void scale(void* flat, at::ScalarType type, std::int64_t bytes, double factor) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    auto* values = static_cast<T*>(flat);
    const std::size_t count = static_cast<std::size_t>(bytes) / sizeof(T);
    const T by = [&] {
      if constexpr (kIsComplex<T>) {
        return T{static_cast<typename T::value_type>(factor)};
      } else if constexpr (kIsInteger<T> || std::is_same_v<T, double>) {
        return static_cast<T>(factor);
      } else {
        return static_cast<T>(static_cast<float>(factor));
      }
    }();
    for (std::size_t i = 0; i < count; ++i) values[i] = product_of(values[i], by);
  });
}

/// Folds the same `bytes` of every member into `flat`. Buffers may lie anywhere: in a coalesced operation an odd
/// number of bytes may go before. In blocks that stay in the cache, so every input is read once.
inline void fold(Reduction reduction, at::ScalarType type, void* flat,
                 const std::vector<const void*>& members, std::int64_t bytes) {
  constexpr std::size_t kBlock = 32 * 1024;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    alignas(64) std::array<char, kBlock> into;
    alignas(64) std::array<char, kBlock> copy;
    const auto total = static_cast<std::size_t>(bytes);
    for (std::size_t start = 0; start < total; start += kBlock) {
      const std::size_t size = std::min(kBlock, total - start);
      const std::size_t count = size / sizeof(T);
      std::memcpy(into.data(), static_cast<const char*>(members[0]) + start, size);
      for (std::size_t member = 1; member < members.size(); ++member) {
        const char* from = static_cast<const char*>(members[member]) + start;
        if (reinterpret_cast<std::uintptr_t>(from) % alignof(T) != 0) {
          std::memcpy(copy.data(), from, size);
          from = copy.data();
        }
        fold_into(reduction, reinterpret_cast<T*>(into.data()), reinterpret_cast<const T*>(from), count);
      }
      if (reduction == Reduction::AVG) divide(reinterpret_cast<T*>(into.data()), count, members.size());
      std::memcpy(static_cast<char*>(flat) + start, into.data(), size);
    }
  });
}

}  // namespace orrery::live::shim
