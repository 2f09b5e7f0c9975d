// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/string_table.hpp"

#include <functional>
#include <limits>

#include "orrery/base/check.hpp"

namespace orrery::timeline {
namespace {
constexpr std::size_t kFirstSlots = 256;
}  // namespace

StringTable::StringTable() : ends_{0}, slots_(kFirstSlots) { intern(""); }

std::size_t StringTable::find_slot(std::string_view text) const {
  const std::size_t mask = slots_.size() - 1;
  // Numbers are given in order of arrival, so the hash never shows in a result.
  std::size_t slot = std::hash<std::string_view>{}(text)&mask;
  while (slots_[slot].is_valid() && this->text(slots_[slot]) != text) slot = (slot + 1) & mask;
  return slot;
}

TextId StringTable::intern(std::string_view text) {
  std::size_t slot = find_slot(text);
  if (slots_[slot].is_valid()) return slots_[slot];
  ORRERY_CHECK(size() < std::numeric_limits<std::uint32_t>::max(), "too many different texts");
  if (2 * (size() + 1) > slots_.size()) {
    grow();
    slot = find_slot(text);
  }
  slots_[slot] = TextId{size()};
  bytes_.append(text);
  ends_.push_back(bytes_.size());
  return slots_[slot];
}

void StringTable::grow() {
  slots_.assign(slots_.size() * 2, TextId{});
  for (std::size_t i = 0; i < size(); ++i) {
    const TextId id{i};
    slots_[find_slot(text(id))] = id;
  }
}

}  // namespace orrery::timeline
