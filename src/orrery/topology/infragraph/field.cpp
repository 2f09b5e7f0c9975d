// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/infragraph/field.hpp"

#include <algorithm>

#include "orrery/base/check.hpp"
#include "orrery/base/text.hpp"

namespace orrery::topology::infragraph {
namespace {

std::vector<std::string> strings(std::span<const std::string_view> words) {
  return {words.begin(), words.end()};
}

/// Keys of the format before 2.0, which spelt edges as "a.0.link.b.0" texts.
bool is_superseded(std::string_view key) { return key == "connections" || key == "external"; }

constexpr const char* kSuperseded =
    "this is the InfraGraph format of before 2.0, which is not read; use 'edges' with 'ep1', 'ep2', 'scheme' "
    "and "
    "'link', and components with 'choice' (docs/infragraph.md)";

}  // namespace

void Reader::fail(Position position, std::string field, std::string value, std::string expected,
                  std::string nearest) const {
  throw InputError{{.source = document.source(),
                    .position = position,
                    .field = std::move(field),
                    .value = std::move(value),
                    .expected = std::move(expected),
                    .nearest = std::move(nearest)}};
}

std::string Field::path() const {
  if (parent_ == nullptr) return {};
  const std::string parent = parent_->path();
  if (key_.empty()) return fmt::format("{}[{}]", parent, index_);
  return parent.empty() ? std::string{key_} : fmt::format("{}.{}", parent, key_);
}

void Field::fail(const std::string& expected, const std::string& nearest) const {
  const std::string value = node_->kind == config::Kind::kScalar ? node_->text : std::string{};
  reader_->fail(node_->position, path(), value, expected, nearest);
}

std::optional<Field> Field::find(std::string_view key) const& {
  const config::Node* value = node_->find(key);
  if (value == nullptr || value->kind == config::Kind::kNull) return std::nullopt;
  return Field{this, key, 0, *value};
}

Field Field::required(std::string_view key) const& {
  const std::optional<Field> value = find(key);
  if (!value) fail(fmt::format("required key '{}' is missing", key));
  return *value;
}

void Field::expect_keys(std::span<const std::string_view> known) const {
  if (node_->kind != config::Kind::kMapping) fail("expected a mapping of keys to values");
  for (const config::Entry& entry : node_->entries) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    const Field value{this, entry.key, 0, entry.value};
    const bool is_old_component = entry.key == "type" && std::ranges::find(known, "choice") != known.end();
    if (is_superseded(entry.key) || (is_old_component && !find("choice"))) {
      reader_->fail(entry.position, value.path(), {}, kSuperseded);
    }
    if (reader_->lenient) continue;
    const std::string nearest = nearest_name(entry.key, strings(known));
    std::string expected = "unknown key";
    if (nearest.empty()) expected += fmt::format("; expected one of: {}", fmt::join(known, ", "));
    reader_->fail(entry.position, value.path(), {}, expected, nearest);
  }
}

void Field::expect_list() const {
  if (node_->kind != config::Kind::kSequence) fail("expected a list");
}

std::string_view Field::text(std::string_view expected) const {
  if (node_->kind != config::Kind::kScalar || node_->text.empty()) fail(std::string{expected});
  return node_->text;
}

std::uint32_t Field::count() const {
  const auto count = node_->kind == config::Kind::kScalar ? parse_integer(node_->text) : std::nullopt;
  if (!count || *count < 0 || *count > reader_->max_count) {
    fail(fmt::format("expected a whole number from 0 to {}", reader_->max_count));
  }
  return static_cast<std::uint32_t>(*count);
}

std::size_t Field::word(std::span<const std::string_view> words) const {
  const std::string_view value = text("expected a word");
  const auto found = std::ranges::find(words, value);
  if (found == words.end()) {
    fail(fmt::format("expected one of: {}", fmt::join(words, ", ")), nearest_name(value, strings(words)));
  }
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace orrery::topology::infragraph
