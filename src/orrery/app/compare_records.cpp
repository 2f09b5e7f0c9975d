// SPDX-License-Identifier: Apache-2.0
// A comparison as JSON and as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/app/compare.hpp"

namespace orrery::app {
namespace {

using Json = nlohmann::ordered_json;

Json interval_json(const Interval& interval) { return Json::array({interval.low, interval.high}); }

Json difference_json(const Difference& one) {
  return {
      {"name", one.name},
      {"a_ps", one.a},
      {"b_ps", one.b},
      {"a_interval_ps", interval_json(one.a_interval)},
      {"b_interval_ps", interval_json(one.b_interval)},
      {"relative", one.relative},
      {"relative_interval", one.relative_interval ? interval_json(*one.relative_interval) : Json(nullptr)},
      {"p_value", one.p_value ? Json(*one.p_value) : Json(nullptr)}};
}

Json run_json(const ComparedRun& run) {
  return {
      {"folder", run.name}, {"kind", run.kind}, {"cluster", run.cluster}, {"repeats", run.samples.size()}};
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

constexpr double kLeft = 190;
constexpr double kBars = 560;
constexpr double kRow = 44;

/// One row: two bars, each with its interval.
std::string bars_svg(const Difference& one, double top, double scale) {
  const auto bar = [&](double value, const Interval& interval, double y, const char* colour) {
    const double width = value * scale;
    std::string text =
        fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"14\" fill=\"{}\"/>\n", kLeft,
                    y, width, colour);
    text += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#222\" stroke-width=\"1.5\"/>\n",
                        kLeft + interval.low * scale, y + 7, kLeft + interval.high * scale);
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{:.4g} ms</text>\n",
                        kLeft + std::max(width, interval.high * scale) + 6, y + 11, value / 1e9);
    return text;
  };
  std::string text = fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                                 top + 19, escaped(one.name));
  text += bar(one.a, one.a_interval, top, "#3b6fb6");
  text += bar(one.b, one.b_interval, top + 16, "#d08a2e");
  return text;
}

}  // namespace

std::string to_json(const Comparison& comparison) {
  Json figures = Json::array();
  for (const Difference& one : comparison.figures) figures.push_back(difference_json(one));
  Json ranks = Json::array();
  for (const std::vector<Difference>& rank : comparison.ranks) {
    Json own = Json::array();
    for (const Difference& one : rank) own.push_back(difference_json(one));
    ranks.push_back(std::move(own));
  }
  Json operations = Json::array();
  for (const ComparedOperation& one : comparison.operations) {
    operations.push_back({{"name", one.time.name},
                          {"a_calls", one.a_calls},
                          {"b_calls", one.b_calls},
                          {"time", difference_json(one.time)},
                          {"waiting", difference_json(one.waiting)},
                          {"share_of_difference", one.share}});
  }
  const Json json{{"a", run_json(comparison.a)},
                  {"b", run_json(comparison.b)},
                  {"notes", comparison.notes},
                  {"figures", figures},
                  {"ranks", ranks},
                  {"operations", operations}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_svg(const Comparison& comparison) {
  constexpr std::size_t kOperations = 8;
  std::vector<Difference> rows = comparison.figures;
  for (std::size_t i = 0; i < std::min(kOperations, comparison.operations.size()); ++i) {
    rows.push_back(comparison.operations[i].time);
  }
  double longest = 1;
  for (const Difference& one : rows) {
    longest = std::max({longest, one.a_interval.high, one.b_interval.high, one.a, one.b});
  }
  const double height = 60 + kRow * static_cast<double>(rows.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"{:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      height);
  text += fmt::format("<text x=\"16\" y=\"20\" fill=\"#3b6fb6\">A: {} ({}, {})</text>\n",
                      escaped(comparison.a.name), comparison.a.kind, escaped(comparison.a.cluster));
  text += fmt::format("<text x=\"16\" y=\"38\" fill=\"#d08a2e\">B: {} ({}, {})</text>\n",
                      escaped(comparison.b.name), comparison.b.kind, escaped(comparison.b.cluster));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += bars_svg(rows[i], 52 + kRow * static_cast<double>(i), kBars / longest);
  }
  return text + "</svg>\n";
}

}  // namespace orrery::app
