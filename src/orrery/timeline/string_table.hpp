// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Texts kept once and named by a number. Millions of spans share a few hundred names, so a span holds four
/// bytes instead of a string.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/id.hpp"

namespace orrery::timeline {

using TextId = Id<struct TextTag>;

class StringTable {
 public:
  StringTable();
  /// The number of `text`; equal texts have equal numbers, and numbers count up from 0 (the empty text).
  TextId intern(std::string_view text);
  /// Valid until the next intern().
  [[nodiscard]] std::string_view text(TextId id) const {
    const std::size_t begin = ends_[id.index()];
    return std::string_view{bytes_}.substr(begin, ends_[id.index() + 1] - begin);
  }
  [[nodiscard]] std::size_t size() const { return ends_.size() - 1; }

 private:
  /// Where `text` stands in slots_, or the free slot where it belongs.
  [[nodiscard]] std::size_t find_slot(std::string_view text) const;
  void grow();

  std::string bytes_;                // Every text, one after the other.
  std::vector<std::uint64_t> ends_;  // Text i is bytes_[ends_[i], ends_[i + 1]).
  std::vector<TextId> slots_;        // Open addressing; a power of two, at most half full.
};

}  // namespace orrery::timeline
