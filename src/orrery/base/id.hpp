// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Dense indices that cannot be mixed up: a NodeId is not a LinkId.
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace orrery {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t value) : value_{value} {}
  constexpr explicit Id(std::size_t value) : value_{static_cast<std::uint32_t>(value)} {}
  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
  [[nodiscard]] constexpr std::size_t index() const { return value_; }
  [[nodiscard]] constexpr bool is_valid() const {
    return value_ != std::numeric_limits<std::uint32_t>::max();
  }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  std::uint32_t value_ = std::numeric_limits<std::uint32_t>::max();
};

}  // namespace orrery

template <class Tag>
struct std::hash<orrery::Id<Tag>> {
  std::size_t operator()(orrery::Id<Tag> id) const noexcept { return id.value(); }
};
