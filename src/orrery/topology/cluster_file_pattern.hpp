// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Patterns that name nodes and links in a cluster file.
///
///   nodes   host[3].gpu[*]     one segment per level; an index is a number, a slice 0:4 (end excluded), a list
///                              0,2,4:6, * for all, or a variable; no index means all
///   links   A - B              every node of A with every node of B, both directions
///           A -> B             the direction from A to B (overrides, events and jitter only)
///
/// A variable on the left, nic[i], runs over all and keeps its value on the right, where arithmetic is allowed
/// and done from left to right: leaf[i], leaf[i/2], gpu[i+1%8] is gpu[(i+1)%8].
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.hpp"
#include "orrery/config/document.hpp"

namespace orrery::topology {

/// The text of a pattern and where it stands, for errors.
struct PatternText {
  std::string text;
  std::string source;
  Position position;
  std::string field;

  [[noreturn]] void fail(const std::string& expected, const std::string& nearest = {}) const;
  /// A pattern written as a value.
  [[nodiscard]] static PatternText of_value(const config::Cursor& at);
  /// A pattern written as a key of the mapping `at`.
  [[nodiscard]] static PatternText of_key(const config::Cursor& at, const config::Entry& entry);
};

/// begin:end of a slice; `end` may be past the last one only when it was not written.
struct IndexRange {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end;  ///< Excluded; absent = to the last.
};

struct IndexStep {
  char operation = '+';  ///< One of + - * / %.
  std::int64_t operand = 0;
};

/// What stands between the brackets of one segment.
struct IndexSelector {
  std::vector<IndexRange> ranges;  ///< Unless it is a variable.
  char variable = '\0';
  std::vector<IndexStep> steps;  ///< Applied to the variable in order.

  [[nodiscard]] std::int64_t evaluate(std::int64_t value) const;
};

struct Segment {
  std::string name;
  IndexSelector index;
};

struct NodePattern {
  std::vector<Segment> segments;
};

struct LinkPattern {
  NodePattern left;
  NodePattern right;
  bool is_one_way = false;
};

[[nodiscard]] NodePattern parse_node_pattern(const PatternText& text, std::string_view part);
/// Errors unless the text is "A - B" or "A -> B".
[[nodiscard]] LinkPattern parse_link_pattern(const PatternText& text);
/// True for "A - B" and "A -> B", false for a pattern of nodes.
[[nodiscard]] bool is_link_pattern(std::string_view text);

}  // namespace orrery::topology
