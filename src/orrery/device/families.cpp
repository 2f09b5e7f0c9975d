// SPDX-License-Identifier: Apache-2.0
#include "orrery/device/families.hpp"

#include <algorithm>

namespace orrery::device {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

/// Without the variant.
std::string_view plain_family(std::string_view family) { return family.substr(0, family.find('@')); }

bool is_attention(std::string_view family) { return family.starts_with("attention"); }

/// Pairs of a query and a key that it sees.
double visible_pairs(double queries, double keys, bool is_causal) {
  if (!is_causal) return queries * keys;
  const double seeing = std::min(queries, keys);  // The last ones; those before see nothing.
  return seeing * keys - seeing * (seeing - 1) / 2;
}

}  // namespace

std::optional<std::uint32_t> axis_count(std::string_view family) {
  if (plain_family(family) == "gemm") return 4;
  if (is_attention(family)) return 6;
  return std::nullopt;
}

Work gemm_work(const Axes& axes, DataType type) {
  const double batch = real(axes[0]);
  const double m = real(axes[1]);
  const double n = real(axes[2]);
  const double k = real(axes[3]);
  return {.flops = 2 * batch * m * n * k,
          .bytes = batch * (m * k + k * n + m * n) * real(element_bytes(type))};
}

Work attention_work(const Axes& axes, DataType type, bool is_causal, bool is_backward) {
  const double batch = real(axes[0]);
  const double heads = real(axes[1]);
  const double key_heads = real(axes[2]);
  const double queries = real(axes[3]);
  const double keys = real(axes[4]);
  const double width = real(axes[5]);
  const double pairs = batch * heads * visible_pairs(queries, keys, is_causal);
  const double values = batch * width * (2 * heads * queries + 2 * key_heads * keys);
  return {.flops = (is_backward ? 10 : 4) * pairs * width,
          .bytes = (is_backward ? 2 : 1) * values * real(element_bytes(type))};
}

Work family_work(std::string_view name, const Axes& axes, DataType type) {
  const std::string_view family = plain_family(name);
  if (family == "gemm") return gemm_work(axes, type);
  if (is_attention(family)) {
    return attention_work(axes, type, family.find("_causal") != std::string_view::npos,
                          family.ends_with("_backward"));
  }
  // Lists of tensors count their elements in the second axis.
  double elements = axes.count > 0 ? real(axes[0]) : 1;
  if (axes.count > 1) elements = family.starts_with("_f") ? real(axes[1]) : elements * real(axes[1]);
  return {.flops = 0, .bytes = 2 * elements * real(element_bytes(type))};
}

}  // namespace orrery::device
