// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A YAML or JSON text as a tree that remembers where each value stands. JSON is read as the YAML it is.
/// Size, depth and node count are bounded, duplicate keys refused, aliases expanded within the bounds.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.hpp"

namespace orrery::config {

enum class Kind : unsigned char { kNull, kScalar, kSequence, kMapping };

struct Entry;

struct Node {
  Kind kind = Kind::kNull;
  bool quoted = false;  ///< "8" in quotes is text, never a number.
  Position position;
  std::string text;            ///< Scalars: the value as written.
  std::vector<Node> items;     ///< Sequences.
  std::vector<Entry> entries;  ///< Mappings, in file order.

  /// The value under `key`, or nullptr. Linear: mappings of a description are short.
  [[nodiscard]] const Node* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  Position position;  ///< Of the key.
  Node value;
};

/// What a reader accepts at the most. The defaults are far above any real description.
struct Limits {
  std::size_t bytes = std::size_t{256} << 20;
  std::size_t nodes = 30'000'000;
  int depth = 64;
};

class Document {
 public:
  /// InputError with file:line:column on anything that is not one well-formed document.
  [[nodiscard]] static Document load(const std::string& path, const Limits& limits = {});
  [[nodiscard]] static Document parse(std::string_view text, std::string source, const Limits& limits = {});
  /// "name:key=value,key=value" (the one-line form of the command line) as {key: value}; `name` comes back
  /// through `head`. Values are unquoted scalars.
  [[nodiscard]] static Document from_line(std::string_view text, std::string source, std::string& head);

  [[nodiscard]] const Node& root() const& { return root_; }
  const Node& root() const&& = delete;
  [[nodiscard]] const std::string& source() const& { return source_; }
  const std::string& source() const&& = delete;

 private:
  std::string source_;
  Node root_;
};

/// A place in a document: what a typed reader holds while it walks down. Cheap to copy.
class Cursor {
 public:
  explicit Cursor(const Document& document) : document_{&document}, node_{&document.root()} {}

  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] const std::string& path() const& { return path_; }
  [[nodiscard]] const std::string& source() const { return document_->source(); }
  [[nodiscard]] bool has(std::string_view key) const { return node_->find(key) != nullptr; }
  /// The value under `key`; an error when it is absent.
  [[nodiscard]] Cursor at(std::string_view key) const;
  [[nodiscard]] Cursor item(std::size_t index) const;
  /// Number of items; an error unless this is a sequence.
  [[nodiscard]] std::size_t size() const;
  /// Errors unless this is a mapping whose keys are all in `known`.
  void expect_keys(const std::vector<std::string>& known) const;
  void expect_mapping() const;
  /// The scalar's text; an error unless this is a scalar.
  [[nodiscard]] const std::string& scalar(std::string_view expected) const;
  /// "source:line:column: path: 'value': expected".
  [[noreturn]] void fail(const std::string& expected, const std::string& nearest = {}) const;

 private:
  Cursor(const Document* document, const Node* node, std::string path)
      : document_{document}, node_{node}, path_{std::move(path)} {}
  const Document* document_;
  const Node* node_;
  std::string path_;
};

}  // namespace orrery::config
