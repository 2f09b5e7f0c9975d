// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/size_list.hpp"

#include <fmt/format.h>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::app {
namespace {

constexpr Bytes kLargest{std::int64_t{1} << 50};  // 1 PiB: sums over ranks stay far from overflow.

class SizeReader {
 public:
  explicit SizeReader(const std::string& source) : source_{source} {}

  void add(std::string_view item) {
    const std::size_t dots = item.find("..");
    if (dots == std::string_view::npos) {
      push(size(item));
      return;
    }
    std::string_view rest = item.substr(dots + 2);
    std::string_view step = "x2";
    if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
      step = trim(rest.substr(colon + 1));
      rest = rest.substr(0, colon);
    }
    range(size(item.substr(0, dots)), size(rest), step, item);
  }
  [[nodiscard]] std::vector<Bytes> take() && { return std::move(sizes_); }

 private:
  void range(Bytes first, Bytes last, std::string_view step, std::string_view item) {
    if (last < first) fail(item, "the range ends before it begins");
    if (step.starts_with('+')) {
      const Bytes by = size(step.substr(1));
      if (by == Bytes{}) fail(item, "a range must grow");
      for (Bytes at = first; at <= last; at += by) push(at);
      return;
    }
    const auto factor = step.starts_with('x') ? parse_number(step.substr(1)) : std::nullopt;
    if (!factor) fail(item, "expected a step such as ':x2' or ':+1MiB'");
    if (!(*factor > 1 && *factor <= 1e6)) fail(item, "expected a factor above 1, at most 1e6");
    if (first == Bytes{}) fail(item, "zero does not grow when multiplied; begin at 1B, or add with ':+1KiB'");
    for (Bytes at = first; at <= last;) {
      push(at);
      const auto next = static_cast<std::int64_t>(static_cast<double>(at.count()) * *factor);
      at = Bytes{std::max(next, at.count() + 1)};
    }
  }
  [[nodiscard]] Bytes size(std::string_view text) const {
    const std::string_view trimmed = trim(text);
    const std::optional<Bytes> bytes = parse_bytes(trimmed);
    if (!bytes) {
      fail(trimmed,
           "expected a size with its unit such as 64KiB or 3MB, a range 1KiB..1GiB, or a list of these");
    }
    if (*bytes > kLargest) fail(trimmed, fmt::format("at most {}", to_text(kLargest)));
    return *bytes;
  }
  void push(Bytes size) {
    if (sizes_.size() == kMaxSizes) {
      fail({}, fmt::format("more than {} sizes", kMaxSizes));
    }
    sizes_.push_back(size);
  }
  [[noreturn]] void fail(std::string_view value, std::string expected) const {
    throw InputError{{.source = source_,
                      .position = {},
                      .field = {},
                      .value = std::string{value},
                      .expected = std::move(expected),
                      .nearest = {}}};
  }

  const std::string& source_;
  std::vector<Bytes> sizes_;
};

}  // namespace

std::vector<Bytes> parse_sizes(std::string_view text, const std::string& source) {
  SizeReader reader{source};
  for (const std::string_view item : split(text, ',')) reader.add(item);
  return std::move(reader).take();
}

}  // namespace orrery::app
