// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A place in an InfraGraph file while it is read. Unlike config::Cursor it spells out its path only when an
/// error needs it: large files list 10^5 edges of six values each.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orrery/config/document.hpp"

namespace orrery::topology::infragraph {

/// What the whole of a file shares.
struct Reader {
  const config::Document& document;
  bool lenient = false;
  std::int64_t max_count = 0;  ///< Of components and instances.

  [[noreturn]] void fail(Position position, std::string field, std::string value, std::string expected,
                         std::string nearest = {}) const;
};

/// Refers to its parent, so a chain of fields lives on the stack of the functions that walk down.
class Field {
 public:
  Field(const Reader& reader, const config::Node& root) : reader_{&reader}, node_{&root} {}

  [[nodiscard]] const config::Node& node() const { return *node_; }
  [[nodiscard]] const Reader& reader() const { return *reader_; }
  [[nodiscard]] std::string path() const;

  /// The value under `key`; an error when it is absent or null.
  [[nodiscard]] Field required(std::string_view key) const&;
  Field required(std::string_view key) const&& = delete;
  /// The same, or nothing.
  [[nodiscard]] std::optional<Field> find(std::string_view key) const&;
  std::optional<Field> find(std::string_view key) const&& = delete;
  /// Calls `read(item)` for each item; an error unless this is a list.
  template <class Read>
  void for_each_item(const Read& read) const {
    expect_list();
    for (std::size_t i = 0; i < node_->items.size(); ++i) read(Field{this, {}, i, node_->items[i]});
  }

  /// An error unless this is a mapping; in strict mode also when a key is not in `known`.
  void expect_keys(std::span<const std::string_view> known) const;
  void expect_list() const;
  /// Text that is not empty.
  [[nodiscard]] std::string_view text(std::string_view expected = "expected a name") const;
  /// A whole number from 0 to the reader's max_count.
  [[nodiscard]] std::uint32_t count() const;
  /// One of `words`, by position.
  [[nodiscard]] std::size_t word(std::span<const std::string_view> words) const;

  [[noreturn]] void fail(const std::string& expected, const std::string& nearest = {}) const;

 private:
  Field(const Field* parent, std::string_view key, std::size_t index, const config::Node& node)
      : reader_{parent->reader_}, parent_{parent}, key_{key}, index_{index}, node_{&node} {}
  const Reader* reader_;
  const Field* parent_ = nullptr;
  std::string_view key_;  // Empty: an item of a list.
  std::size_t index_ = 0;
  const config::Node* node_;
};

}  // namespace orrery::topology::infragraph
