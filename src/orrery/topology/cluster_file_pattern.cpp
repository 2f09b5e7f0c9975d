// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/cluster_file_pattern.hpp"

#include <fmt/format.h>

#include "orrery/base/text.hpp"
#include "orrery/topology/generators/draft.hpp"

namespace orrery::topology {
namespace {

constexpr std::string_view kBoth = " - ";
constexpr std::string_view kOneWay = " -> ";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; }

/// Reads one pattern from front to back.
class PatternParser {
 public:
  PatternParser(const PatternText& text, std::string_view part) : text_{text}, rest_{trim(part)} {}

  NodePattern nodes() {
    NodePattern pattern;
    for (;;) {
      pattern.segments.push_back(segment());
      if (rest_.empty()) return pattern;
      expect('.', "expected '.' and the next level");
    }
  }

 private:
  Segment segment() {
    Segment segment;
    while (!rest_.empty() && is_name_char(rest_.front())) segment.name += take();
    if (segment.name.empty()) fail("expected a name");
    if (rest_.empty() || rest_.front() != '[') {
      segment.index.ranges.emplace_back();
      return segment;
    }
    take();
    const bool is_variable = rest_.size() >= 2 && is_letter(rest_[0]);
    segment.index = is_variable ? variable() : ranges();
    expect(']', "expected ']'");
    return segment;
  }

  IndexSelector variable() {
    IndexSelector selector;
    selector.variable = take();
    while (!rest_.empty() && std::string_view{"+-*/%"}.find(rest_.front()) != std::string_view::npos) {
      const char operation = take();
      const std::int64_t operand = number();
      if (operand == 0 && (operation == '/' || operation == '%')) fail("cannot divide by zero");
      selector.steps.push_back({operation, operand});
    }
    return selector;
  }

  IndexSelector ranges() {
    IndexSelector selector;
    do {
      if (peek() == '*') {
        take();
        selector.ranges.emplace_back();
      } else {
        selector.ranges.push_back(range());
      }
    } while (peek() == ',' && take() == ',');
    return selector;
  }

  IndexRange range() {
    IndexRange range;
    if (peek() != ':') range.begin = number();
    if (peek() != ':') {
      range.end = range.begin + 1;
      return range;
    }
    take();
    if (is_digit(peek())) range.end = number();
    if (range.end && *range.end <= range.begin) fail("expected a slice begin:end that holds at least one");
    return range;
  }

  std::int64_t number() {
    std::string digits;
    while (!rest_.empty() && is_digit(rest_.front())) digits += take();
    const auto value = parse_integer(digits);
    if (!value || *value > kMaxNodes) {
      fail(fmt::format("expected an index from 0 to {}, *, or a variable such as i", kMaxNodes));
    }
    return *value;
  }

  [[nodiscard]] char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  void expect(char c, const char* expected) {
    if (peek() != c) fail(expected);
    take();
  }
  [[noreturn]] void fail(const std::string& expected) const {
    text_.fail(rest_.empty() ? expected + " at the end" : fmt::format("{} before '{}'", expected, rest_));
  }

  const PatternText& text_;
  std::string_view rest_;
};

}  // namespace

void PatternText::fail(const std::string& expected, const std::string& nearest) const {
  throw InputError{{.source = source,
                    .position = position,
                    .field = field,
                    .value = text,
                    .expected = expected,
                    .nearest = nearest}};
}

PatternText PatternText::of_value(const config::Cursor& at) {
  return {at.scalar("a pattern such as host[*].gpu[0]"), at.source(), at.node().position, at.path()};
}

PatternText PatternText::of_key(const config::Cursor& at, const config::Entry& entry) {
  return {entry.key, at.source(), entry.position, at.path()};
}

std::int64_t IndexSelector::evaluate(std::int64_t value) const {
  for (const IndexStep& step : steps) {
    switch (step.operation) {
      case '+':
        value += step.operand;
        break;
      case '-':
        value -= step.operand;
        break;
      case '*':
        value *= step.operand;
        break;
      case '/':
        value = div_floor(value, step.operand);
        break;
      default:
        value -= div_floor(value, step.operand) * step.operand;
        break;
    }
    // Both bounds are far outside any index, and far inside what the next product can hold.
    if (value > kMaxNodes || value < -kMaxNodes) return -1;
  }
  return value;
}

NodePattern parse_node_pattern(const PatternText& text, std::string_view part) {
  return PatternParser{text, part}.nodes();
}

bool is_link_pattern(std::string_view text) {
  return text.find(kBoth) != std::string_view::npos || text.find(kOneWay) != std::string_view::npos;
}

LinkPattern parse_link_pattern(const PatternText& text) {
  const std::string_view whole = text.text;
  const bool is_one_way = whole.find(kOneWay) != std::string_view::npos;
  const std::string_view separator = is_one_way ? kOneWay : kBoth;
  const std::size_t middle = whole.find(separator);
  if (middle == std::string_view::npos) text.fail("expected two ends, 'A - B' with blanks around the dash");
  LinkPattern pattern;
  pattern.left = parse_node_pattern(text, whole.substr(0, middle));
  pattern.right = parse_node_pattern(text, whole.substr(middle + separator.size()));
  pattern.is_one_way = is_one_way;
  return pattern;
}

}  // namespace orrery::topology
