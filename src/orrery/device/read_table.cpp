// SPDX-License-Identifier: Apache-2.0
#include "orrery/device/read_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"
#include "orrery/device/families.hpp"
#include "orrery/device/torch_names.hpp"

namespace orrery::device {
namespace {

constexpr std::size_t kLargest = std::size_t{256} << 20;
constexpr std::string_view kHeader = "operator,dtype,sizes,time";

class TableReader {
 public:
  explicit TableReader(const std::string& source) : source_{source} {}

  void read_line(std::string_view line, int number) {
    line_ = number;
    line = trim(line);
    if (line.empty() || line.starts_with('#')) return;
    if (!has_header_) {
      if (line != kHeader) fail({}, std::string{line}, fmt::format("expected the header '{}'", kHeader));
      has_header_ = true;
      return;
    }
    const std::vector<std::string_view> words = split(line, ',');
    if (words.size() != 4) fail({}, std::string{line}, fmt::format("expected '{}'", kHeader));
    read_point(words);
  }
  OperatorTable finish() {
    if (table_.empty()) fail({}, {}, "no profiled operators; `orrery profile-ops` makes such a file");
    return std::move(table_);
  }

 private:
  void read_point(const std::vector<std::string_view>& words) {
    const std::string_view name = trim(words[0]);
    if (name.empty()) fail("operator", {}, "expected the name of an operator, such as gemm");
    const auto type = parse_type(trim(words[1]));
    if (!type) {
      const std::vector<std::string> names{kTypeNames.begin(), kTypeNames.end()};
      fail("dtype", std::string{words[1]}, fmt::format("expected one of: {}", join(names, ", ")),
           nearest_name(words[1], names));
    }
    const auto axes = parse_axes(trim(words[2]));
    if (!axes) fail("sizes", std::string{words[2]}, "expected one to six sizes, such as 1x128x4096x4096");
    const auto time = parse_duration(trim(words[3]));
    constexpr Duration kLongest = std::chrono::hours{1};
    if (!time || *time <= Duration{} || *time > kLongest) {
      fail("time", std::string{words[3]}, "expected a time of at most an hour with its unit, such as 14.2us");
    }
    check_axes(name, *type, *axes, std::string{words[2]});
    table_.add(name, *type, class_of(name),
               {.axes = *axes, .duration_ps = static_cast<double>(count_ps(*time))});
  }

  void check_axes(std::string_view name, DataType type, const Axes& axes, const std::string& text) {
    const auto right = axis_count(name);
    if (right && *right != axes.count) {
      fail("sizes", text, fmt::format("expected {} sizes for {}", *right, name));
    }
    const Series* const series = table_.find(name, type);
    if (series != nullptr && series->points.front().axes.count != axes.count) {
      fail("sizes", text,
           fmt::format("expected {} sizes, as {} has above", series->points.front().axes.count, name));
    }
  }

  [[noreturn]] void fail(const std::string& field, const std::string& value, const std::string& expected,
                         const std::string& nearest = {}) const {
    throw InputError{{.source = source_,
                      .position = {.line = line_, .column = 1},
                      .field = field,
                      .value = value,
                      .expected = expected,
                      .nearest = nearest}};
  }

  const std::string& source_;
  int line_ = 0;
  bool has_header_ = false;
  OperatorTable table_;
};

}  // namespace

OperatorTable read_table(const std::string& path) { return parse_table(read_file(path, kLargest), path); }

OperatorTable parse_table(std::string_view text, const std::string& source) {
  TableReader reader{source};
  int number = 0;
  for (const std::string_view line : split(text, '\n')) reader.read_line(line, ++number);
  return reader.finish();
}

std::optional<Axes> parse_axes(std::string_view text) {
  Axes axes;
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  for (const std::string_view word : split(text, 'x')) {
    const auto size = parse_integer(word);
    if (!size || *size < 1 || *size > kMost || axes.count == kMostAxes) return std::nullopt;
    axes.sizes[axes.count++] = *size;
  }
  return axes;
}

std::optional<DataType> parse_type(std::string_view text) {
  const auto found = std::ranges::find(kTypeNames, text);
  if (found == kTypeNames.end()) return std::nullopt;
  return static_cast<DataType>(found - kTypeNames.begin());
}

OperatorClass class_of(std::string_view name) {
  name = name.substr(0, name.find('@'));
  const auto found = std::ranges::find(kClassNames, name);
  if (found != kClassNames.end()) return static_cast<OperatorClass>(found - kClassNames.begin());
  if (name.starts_with("attention")) return OperatorClass::kAttention;
  if (name.starts_with("conv")) return OperatorClass::kConvolution;
  if (name.starts_with("softmax") || name.find("_norm") != std::string_view::npos) {
    return OperatorClass::kReduction;
  }
  if (name == "random" || name == "copy_strided") return OperatorClass::kMemory;
  const TorchName* const known = find_torch_name(name);
  return known == nullptr ? OperatorClass::kOther : known->kind;
}

}  // namespace orrery::device
