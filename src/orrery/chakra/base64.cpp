// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/base64.hpp"

#include <algorithm>
#include <cstdint>

namespace orrery::chakra {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::optional<std::uint32_t> value_of(char c) {
  if (c == '-') c = '+';  // The alphabet for addresses.
  if (c == '_') c = '/';
  const std::size_t at = kDigits.find(c);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint32_t>(at);
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word = word << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    const std::size_t used = std::min<std::size_t>(bytes.size() - i, 3) + 1;
    for (std::size_t k = 0; k < 4; ++k) {
      out.push_back(k < used ? kDigits[word >> (18 - 6 * k) & 63U] : '=');
    }
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  std::uint32_t word = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const auto value = value_of(c);
    if (!value) return std::nullopt;
    word = (word << 6U | *value) & 0xFFFFU;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out.push_back(static_cast<char>(word >> bits & 0xFFU));
    }
  }
  return text.size() % 4 == 1 ? std::nullopt : std::optional{out};
}

}  // namespace orrery::chakra
