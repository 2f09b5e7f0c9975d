// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/tensors.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "orrery/base/text.hpp"

namespace orrery::chakra {
namespace {

using workload::TensorUse;

constexpr std::int64_t kMost = std::int64_t{1} << 46;  // Bytes: more than any device has.

std::optional<std::int64_t> natural(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < 0 || value > kMost) return {};
  return value;
}

/// Names, each followed by its bytes; nothing when the list is of something else.
void append_pairs(const std::vector<std::string>& texts, bool is_written, std::vector<TensorUse>& uses) {
  const std::size_t before = uses.size();
  for (std::size_t i = 0; i + 1 < texts.size(); i += 2) {
    const std::optional<std::int64_t> size = natural(texts[i + 1]);
    if (!size || texts.size() % 2 != 0) return uses.resize(before);
    if (*size > 0) uses.push_back({texts[i], Bytes{*size}, is_written});
  }
}

/// What PyTorch writes between the brackets of one tensor.
std::optional<TensorUse> parse_tensor(std::string_view list, bool is_written) {
  constexpr std::size_t kStorage = 1;
  constexpr std::size_t kOffset = 2;
  constexpr std::size_t kElements = 3;
  constexpr std::size_t kElement = 4;
  constexpr std::size_t kDevice = 5;
  const std::vector<std::string_view> fields = split(list, ',');
  if (fields.size() != kDevice + 1) return {};
  std::array<std::int64_t, kDevice> numbers{};
  for (std::size_t i = 0; i < kDevice; ++i) {
    const std::optional<std::int64_t> number = natural(trim(fields[i]));
    if (!number) return {};
    numbers.at(i) = *number;
  }
  const std::string_view device = trim(fields[kDevice]);
  if (device.empty() || (device.front() != '\'' && device.front() != '"')) return {};
  std::int64_t bytes = 0;
  const std::int64_t elements = numbers[kOffset] + numbers[kElements];
  if (__builtin_mul_overflow(elements, numbers[kElement], &bytes) || bytes == 0 || bytes > kMost) return {};
  return TensorUse{fmt::format("{} on {}", numbers[kStorage], device.substr(1, device.size() - 2)),
                   Bytes{bytes}, is_written};
}

/// The innermost lists of a text that are tensors; brackets within quotes are letters.
void append_listed(std::string_view text, bool is_written, std::vector<TensorUse>& uses) {
  std::size_t open = std::string_view::npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'' || text[i] == '"') {
      const char quote = text[i];
      for (++i; i < text.size() && text[i] != quote; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (text[i] == '[') {
      open = i + 1;
    } else if (text[i] == ']' && open != std::string_view::npos) {
      if (auto use = parse_tensor(text.substr(open, i - open), is_written)) uses.push_back(std::move(*use));
      open = std::string_view::npos;
    }
  }
}

}  // namespace

void append_tensors(const Node& node, std::vector<TensorUse>& uses) {
  for (const bool is_written : {false, true}) {
    const std::string_view name = is_written ? "outputs" : "inputs";
    for (const Attribute& attribute : node.attributes) {
      if (attribute.is_list && attribute.type == ValueType::kString && attribute.name == name) {
        append_pairs(attribute.texts, is_written, uses);
      }
    }
    const std::optional<IoInfo>& info = is_written ? node.outputs : node.inputs;
    if (info) append_listed(info->values, is_written, uses);
  }
}

}  // namespace orrery::chakra
