// SPDX-License-Identifier: Apache-2.0
#include "orrery/config/document.hpp"

#include <yaml.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "orrery/base/check.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"

namespace orrery::config {
namespace {

Position position_of(const yaml_mark_t& mark) {
  return {static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1};
}

std::size_t count_nodes(const Node& node) {
  std::size_t count = 1;
  for (const Node& item : node.items) count += count_nodes(item);
  for (const Entry& entry : node.entries) count += count_nodes(entry.value);
  return count;
}

int depth_of(const Node& node) {
  int deepest = 0;
  for (const Node& item : node.items) deepest = std::max(deepest, depth_of(item));
  for (const Entry& entry : node.entries) deepest = std::max(deepest, depth_of(entry.value));
  return deepest + 1;
}

/// Owns libyaml's parser and current event; both have C destructors.
class EventStream {
 public:
  EventStream(std::string_view text, const std::string& source) : source_{source} {
    ORRERY_CHECK(yaml_parser_initialize(&parser_) == 1, "libyaml has no memory");
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~EventStream() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  const yaml_event_t& next() {
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) != 1) {
      const char* problem = parser_.problem == nullptr ? "not readable as YAML" : parser_.problem;
      const bool has_mark = parser_.error != YAML_READER_ERROR;
      throw InputError{{.source = source_,
                        .position = has_mark ? position_of(parser_.problem_mark) : position_of(parser_.mark),
                        .field = {},
                        .value = {},
                        .expected = fmt::format("malformed YAML: {}", problem),
                        .nearest = {}}};
    }
    return event_;
  }

 private:
  const std::string& source_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

std::string text_of(const yaml_char_t* value, std::size_t length) {
  return {reinterpret_cast<const char*>(value), length};
}

class TreeBuilder {
 public:
  TreeBuilder(EventStream& events, const std::string& source, const Limits& limits)
      : events_{events}, source_{source}, limits_{limits} {}

  /// Builds the node that starts at `event`. Recursion is bounded by limits.depth.
  Node build(const yaml_event_t& event, int depth) {
    const Position position = position_of(event.start_mark);
    if (depth > limits_.depth) fail(position, fmt::format("nested deeper than {} levels", limits_.depth));
    charge(1, position);
    Node node;
    node.position = position;
    switch (event.type) {
      case YAML_ALIAS_EVENT: {
        const std::string name =
            text_of(event.data.alias.anchor,
                    std::char_traits<char>::length(reinterpret_cast<const char*>(event.data.alias.anchor)));
        return alias(name, position, depth);
      }
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        node.text = text_of(scalar.value, scalar.length);
        node.quoted = scalar.style != YAML_PLAIN_SCALAR_STYLE;
        const bool is_null = !node.quoted && (node.text.empty() || node.text == "~" || node.text == "null");
        node.kind = is_null ? Kind::kNull : Kind::kScalar;
        if (node.text.find('\0') != std::string::npos) fail(position, "a NUL byte is not allowed in text");
        remember(anchor_of(scalar.anchor), node);
        return node;
      }
      case YAML_SEQUENCE_START_EVENT: {
        const std::string anchor = anchor_of(event.data.sequence_start.anchor);
        node.kind = Kind::kSequence;
        for (;;) {
          const yaml_event_t& item = events_.next();
          if (item.type == YAML_SEQUENCE_END_EVENT) break;
          node.items.push_back(build(item, depth + 1));
        }
        remember(anchor, node);
        return node;
      }
      case YAML_MAPPING_START_EVENT: {
        const std::string anchor = anchor_of(event.data.mapping_start.anchor);
        node.kind = Kind::kMapping;
        build_entries(node, depth);
        remember(anchor, node);
        return node;
      }
      default:
        fail(position, "malformed YAML");
    }
  }

 private:
  void build_entries(Node& node, int depth) {
    std::unordered_set<std::string> seen;
    constexpr std::size_t kLinearSearch = 16;  // Short mappings are compared directly; long ones use the set.
    for (;;) {
      const yaml_event_t& key = events_.next();
      if (key.type == YAML_MAPPING_END_EVENT) return;
      const Position position = position_of(key.start_mark);
      if (key.type != YAML_SCALAR_EVENT) fail(position, "a mapping key must be plain text");
      Entry entry;
      entry.key = text_of(key.data.scalar.value, key.data.scalar.length);
      entry.position = position;
      bool duplicate = false;
      if (node.entries.size() < kLinearSearch) {
        duplicate = node.find(entry.key) != nullptr;
      } else {
        if (seen.empty()) {
          for (const Entry& earlier : node.entries) seen.insert(earlier.key);
        }
        duplicate = !seen.insert(entry.key).second;
      }
      if (duplicate) fail(position, fmt::format("key '{}' appears twice", entry.key.substr(0, 80)));
      entry.value = build(events_.next(), depth + 1);
      node.entries.push_back(std::move(entry));
    }
  }

  Node alias(const std::string& name, Position position, int depth) {
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      fail(position, fmt::format("alias '*{}' refers to no finished anchor", name));
    }
    if (depth + found->second.depth > limits_.depth) {
      fail(position, fmt::format("nested deeper than {} levels", limits_.depth));
    }
    charge(found->second.nodes, position);
    return found->second.node;
  }

  static std::string anchor_of(const yaml_char_t* anchor) {
    return anchor == nullptr ? std::string{} : std::string{reinterpret_cast<const char*>(anchor)};
  }

  void remember(const std::string& anchor, const Node& node) {
    if (!anchor.empty()) anchors_[anchor] = {node, count_nodes(node), depth_of(node)};
  }

  void charge(std::size_t nodes, Position position) {
    used_ += nodes;
    if (used_ > limits_.nodes) fail(position, fmt::format("more than {} values", limits_.nodes));
  }

  [[noreturn]] void fail(Position position, std::string expected) const {
    throw InputError{{.source = source_,
                      .position = position,
                      .field = {},
                      .value = {},
                      .expected = std::move(expected),
                      .nearest = {}}};
  }

  struct Anchor {
    Node node;
    std::size_t nodes = 0;
    int depth = 0;
  };
  EventStream& events_;
  const std::string& source_;
  const Limits& limits_;
  std::size_t used_ = 0;
  std::unordered_map<std::string, Anchor> anchors_;  // Looked up by name only, never iterated.
};

}  // namespace

const Node* Node::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

Document Document::load(const std::string& path, const Limits& limits) {
  return parse(read_file(path, limits.bytes), path, limits);
}

Document Document::parse(std::string_view text, std::string source, const Limits& limits) {
  Document document;
  document.source_ = std::move(source);
  const auto fail = [&](std::string expected) {
    throw InputError{{.source = document.source_,
                      .position = {1, 1},
                      .field = {},
                      .value = {},
                      .expected = std::move(expected),
                      .nearest = {}}};
  };
  if (text.size() > limits.bytes) {
    fail(fmt::format("larger than the {} bytes that are accepted", limits.bytes));
  }
  if (trim(text).empty()) fail("the file is empty");
  EventStream events{text, document.source_};
  TreeBuilder builder{events, document.source_, limits};
  events.next();  // Stream start.
  if (events.next().type == YAML_STREAM_END_EVENT) fail("the file holds no document");
  document.root_ = builder.build(events.next(), 1);
  events.next();  // Document end.
  const yaml_event_t& last = events.next();
  if (last.type != YAML_STREAM_END_EVENT) fail("more than one YAML document in the file");
  return document;
}

Document Document::from_line(std::string_view text, std::string source, std::string& head) {
  Document document;
  document.source_ = std::move(source);
  document.root_.kind = Kind::kMapping;
  const std::size_t colon = text.find(':');
  head = std::string{trim(text.substr(0, colon))};
  if (colon == std::string_view::npos || trim(text.substr(colon + 1)).empty()) return document;
  for (const std::string_view part : split(text.substr(colon + 1), ',')) {
    const std::size_t equals = part.find('=');
    Entry entry;
    entry.key = std::string{trim(part.substr(0, equals))};
    if (equals == std::string_view::npos || entry.key.empty()) {
      throw InputError{{.source = document.source_,
                        .position = {},
                        .field = {},
                        .value = std::string{part},
                        .expected = fmt::format("expected '{}:key=value,key=value'", head),
                        .nearest = {}}};
    }
    entry.value.kind = Kind::kScalar;
    entry.value.text = std::string{trim(part.substr(equals + 1))};
    if (document.root_.find(entry.key) != nullptr) {
      throw InputError{{.source = document.source_,
                        .position = {},
                        .field = entry.key,
                        .value = {},
                        .expected = "given twice",
                        .nearest = {}}};
    }
    document.root_.entries.push_back(std::move(entry));
  }
  return document;
}

Cursor Cursor::at(std::string_view key) const {
  expect_mapping();
  const Node* value = node_->find(key);
  if (value == nullptr) fail(fmt::format("required key '{}' is missing", key));
  return {document_, value, path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key)};
}

Cursor Cursor::item(std::size_t index) const {
  ORRERY_CHECK(index < node_->items.size(), "item {} of {}", index, node_->items.size());
  return {document_, &node_->items[index], fmt::format("{}[{}]", path_, index)};
}

std::size_t Cursor::size() const {
  if (node_->kind != Kind::kSequence) fail("expected a list");
  return node_->items.size();
}

void Cursor::expect_mapping() const {
  if (node_->kind != Kind::kMapping) fail("expected a mapping of keys to values");
}

void Cursor::expect_keys(const std::vector<std::string>& known) const {
  expect_mapping();
  for (const Entry& entry : node_->entries) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    const std::string nearest = nearest_name(entry.key, known);
    std::string expected = "unknown key";
    if (nearest.empty()) expected += fmt::format("; expected one of: {}", join(known, ", "));
    throw InputError{{.source = source(),
                      .position = entry.position,
                      .field = path_.empty() ? entry.key : fmt::format("{}.{}", path_, entry.key),
                      .value = {},
                      .expected = std::move(expected),
                      .nearest = nearest}};
  }
}

const std::string& Cursor::scalar(std::string_view expected) const {
  if (node_->kind != Kind::kScalar) fail(fmt::format("expected {}", expected));
  return node_->text;
}

void Cursor::fail(const std::string& expected, const std::string& nearest) const {
  std::string value;
  if (node_->kind == Kind::kScalar) value = node_->text;
  throw InputError{{.source = source(),
                    .position = node_->position,
                    .field = path_,
                    .value = std::move(value),
                    .expected = expected,
                    .nearest = nearest}};
}

}  // namespace orrery::config
