// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/rank_group.hpp"

#include <fmt/format.h>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::app {
namespace {

using collectives::Rank;

class GroupReader {
 public:
  GroupReader(std::size_t available, const std::string& source)
      : source_{source}, is_used_(available, false) {}

  void add(std::string_view item) {
    const std::size_t dash = item.find('-', 1);
    const std::int64_t first = number(item.substr(0, dash), item);
    const std::int64_t last = dash == std::string_view::npos ? first : number(item.substr(dash + 1), item);
    const std::int64_t step = first <= last ? 1 : -1;
    for (std::int64_t rank = first;; rank += step) {
      if (is_used_[static_cast<std::size_t>(rank)]) fail(item, fmt::format("rank {} stands twice", rank));
      is_used_[static_cast<std::size_t>(rank)] = true;
      group_.push_back(static_cast<Rank>(rank));
      if (rank == last) return;
    }
  }
  [[nodiscard]] std::vector<Rank> take() && { return std::move(group_); }

 private:
  [[nodiscard]] std::int64_t number(std::string_view text, std::string_view item) const {
    const std::optional<std::int64_t> value = parse_integer(trim(text));
    if (!value || *value < 0) fail(item, "expected ranks such as 0,2,4-7");
    if (*value >= static_cast<std::int64_t>(is_used_.size())) {
      fail(item, fmt::format("the cluster has ranks 0 to {}", is_used_.size() - 1));
    }
    return *value;
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
  std::vector<bool> is_used_;
  std::vector<Rank> group_;
};

}  // namespace

std::vector<Rank> parse_group(std::string_view text, std::size_t available, const std::string& source) {
  GroupReader reader{available, source};
  for (const std::string_view item : split(text, ',')) reader.add(trim(item));
  return std::move(reader).take();
}

std::string group_text(const std::vector<Rank>& group) {
  std::string text;
  for (std::size_t i = 0; i < group.size();) {
    std::size_t end = i;
    while (end + 1 < group.size() && group[end + 1] == group[end] + 1) ++end;
    if (!text.empty()) text += ',';
    text += end == i ? fmt::format("{}", group[i]) : fmt::format("{}-{}", group[i], group[end]);
    i = end + 1;
  }
  return text;
}

}  // namespace orrery::app
