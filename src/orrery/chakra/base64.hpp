// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Bytes as text, as protobuf's JSON writes them.
#include <optional>
#include <string>
#include <string_view>

namespace orrery::chakra {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Nullopt unless `text` is base64 (either alphabet), padded or not.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace orrery::chakra
