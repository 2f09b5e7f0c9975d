// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/json_stream.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "orrery/base/error.hpp"

namespace orrery::chakra {
namespace {

constexpr std::size_t kWindow = 1U << 16U;
constexpr int kDepth = 32;  // A node needs five.

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

JsonStream::JsonStream(std::unique_ptr<ByteSource> source, std::string name, std::size_t value_limit)
    : source_{std::move(source)}, name_{std::move(name)}, limit_{value_limit}, window_(kWindow) {}

void JsonStream::fail(std::uint64_t at, const std::string& expected) const {
  throw InputError{{.source = name_,
                    .position = {},
                    .field = fmt::format("byte {}", at),
                    .value = {},
                    .expected = expected,
                    .nearest = {}}};
}

bool JsonStream::has_byte() {
  if (begin_ < end_) return true;
  begin_ = 0;
  end_ = source_->read(window_);
  return end_ > 0;
}

char JsonStream::peek() {
  while (has_byte() && is_blank(window_[begin_])) {
    ++begin_;
    ++offset_;
  }
  return has_byte() ? window_[begin_] : '\0';
}

void JsonStream::expect(char c, const char* what) {
  if (peek() != c) fail(offset_, fmt::format("expected '{}': {}", c, what));
  ++begin_;
  ++offset_;
}

void JsonStream::take(std::string& into) {
  if (!has_byte()) fail(offset_, "the file ends inside a value");
  if (into.size() == limit_) fail(value_offset_, fmt::format("a value of more than {} bytes", limit_));
  into.push_back(window_[begin_++]);
  ++offset_;
}

void JsonStream::cut_string(std::string& text) {
  for (;;) {
    take(text);
    if (text.back() == '"') return;
    if (text.back() == '\\') take(text);
  }
}

void JsonStream::cut(std::string& text) {
  int depth = 0;
  value_offset_ = offset_;
  do {
    if (!has_byte()) break;
    const char c = window_[begin_];
    const bool is_scalar = depth == 0 && !text.empty();
    if (is_scalar && (is_blank(c) || c == ',' || c == ']' || c == '}' || c == ':')) return;
    take(text);
    if (c == '"') {
      cut_string(text);
      if (depth == 0) return;
    } else if (c == '{' || c == '[') {
      if (++depth > kDepth) fail(offset_, fmt::format("nested deeper than {} levels", kDepth));
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return;
    }
  } while (depth >= 0);
  if (depth > 0) fail(offset_, "the file ends inside a value");
}

Json JsonStream::value() {
  if (peek() == '\0') fail(offset_, "the file ends where a value was expected");
  std::string text;
  cut(text);
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      fail(value_offset_, fmt::format("key '{}' appears twice", parsed.get<std::string>().substr(0, 80)));
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& error) {
    fail(value_offset_ + (error.byte > 0 ? error.byte - 1 : 0), "malformed JSON");
  } catch (const Json::out_of_range&) {
    fail(value_offset_, "a number that does not fit");
  }
}

std::string JsonStream::key() {
  const Json name = value();
  if (!name.is_string()) fail(value_offset_, "expected a key in quotes");
  expect(':', "a value follows its key");
  return name.get<std::string>();
}

}  // namespace orrery::chakra
