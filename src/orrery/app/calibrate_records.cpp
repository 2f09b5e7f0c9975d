// SPDX-License-Identifier: Apache-2.0
// A calibration as JSON and as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/app/calibrate.hpp"
#include "orrery/base/text.hpp"
#include "orrery/base/units.hpp"

namespace orrery::app {

using Json = nlohmann::ordered_json;

std::string to_json(const Calibration& calibration) {
  Json values = Json::object();
  for (const CalibratedValue& value : calibration.values) values[value.name] = value.value;
  Json points = Json::array();
  for (const CalibrationPoint& point : calibration.points) {
    points.push_back({{"operation", point.operation},
                      {"size_bytes", point.size},
                      {"measured_ps", point.measured_ps},
                      {"spread", point.spread},
                      {"simulated_ps", point.simulated_ps},
                      {"held_out", point.is_held_out}});
  }
  Json slowdown = Json::object();
  for (const auto& [kernel, factor] : calibration.slowdown) slowdown[kernel] = factor;
  const Json json{{"name", calibration.name},
                  {"what", calibration.what},
                  {"ranks", calibration.ranks},
                  {"values", values},
                  {"fitted_error", calibration.fitted_error},
                  {"held_out_error", calibration.held_out_error},
                  {"points", points},
                  {"slowdown", slowdown},
                  {"cluster", calibration.file},
                  {"notes", calibration.notes}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 520;
constexpr double kMargin = 60;

struct Range {
  double least;  ///< Picoseconds.
  double most;
  double longest;  ///< Bytes.
};

/// Lines at powers of ten in time and of 16 in size, with what they stand for.
template <class X, class Y>
std::string grid_lines(const Range& range, const X& x, const Y& y) {
  std::string text;
  constexpr double kTen = 10;
  for (double time = std::pow(kTen, std::ceil(std::log10(range.least))); time <= range.most; time *= kTen) {
    const std::string label =
        time < 1e9 ? fmt::format("{:.0f} us", time / 1e6) : fmt::format("{:.0f} ms", time / 1e9);
    text += fmt::format(
        "<path d=\"M{0} {1:.1f}H{2}\" stroke=\"#ddd\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>\n",
        kMargin, y(time), kWidth - kMargin, kMargin - 4, y(time) + 4, label);
  }
  constexpr double kStep = 16;
  for (double size = 1024; size <= range.longest; size *= kStep) {
    text += fmt::format(
        "<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#ddd\"/><text x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        x(size), kMargin, kHeight - kMargin, kHeight - kMargin + 16, to_text(Bytes{std::llround(size)}));
  }
  return text;
}

}  // namespace

/// Measured times as dots (hollow: held out), simulated ones beside them as bars; both axes are logarithmic.
std::string to_svg(const Calibration& calibration) {
  constexpr const char* kColours[] = {"#3b6fb6", "#d08a2e", "#4a9c5d", "#b5464f", "#7c5cab",
                                      "#8a6d3b", "#3aa0a8", "#c45a9c", "#777777", "#222222"};
  double least = 1e300;
  double shortest = 1e300;
  double most = 1;
  double longest = 2;
  std::set<std::string> names;
  for (const CalibrationPoint& point : calibration.points) {
    least = std::min({least, point.measured_ps, std::max(1.0, point.simulated_ps)});
    most = std::max({most, point.measured_ps, point.simulated_ps});
    // A barrier stands at the edge.
    if (point.size > 1) shortest = std::min(shortest, static_cast<double>(point.size));
    longest = std::max(longest, static_cast<double>(point.size));
    names.insert(point.operation);
  }
  const auto x = [&](double size) {
    return kMargin + (kWidth - 2 * kMargin) * std::log(std::max(size, shortest) / shortest) /
                         std::max(1e-9, std::log(longest / shortest));
  };
  const auto y = [&](double time) {
    const double share = std::log(std::max(time, 1.0) / least) / std::max(1e-9, std::log(most / least));
    return kHeight - kMargin - (kHeight - 2 * kMargin) * share;
  };
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"16\" "
      "y=\"20\">{2}: dots are "
      "measured (hollow: not fitted), lines simulated; {3:.1f} us to {4:.1f} ms, {6:.0f} B to {5:.0f} "
      "KiB</text>\n",
      kWidth, kHeight, calibration.name, least / 1e6, most / 1e9, longest / 1024, shortest);
  text += grid_lines({.least = least, .most = most, .longest = longest}, x, y);
  int number = 0;
  for (const std::string& name : names) {
    const char* colour = kColours[number % 10];
    std::string path;
    std::vector<const CalibrationPoint*> own;
    for (const CalibrationPoint& point : calibration.points) {
      if (point.operation == name) own.push_back(&point);
    }
    std::ranges::sort(own, {}, &CalibrationPoint::size);
    for (const CalibrationPoint* point : own) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(static_cast<double>(point->size)),
                          y(point->simulated_ps));
      text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" stroke=\"{}\" fill=\"{}\"/>\n",
                          x(static_cast<double>(point->size)), y(point->measured_ps), colour,
                          point->is_held_out ? "white" : colour);
    }
    text += fmt::format(
        "<path d=\"{}\" stroke=\"{}\" fill=\"none\"/>\n<text x=\"{:.0f}\" y=\"{}\" fill=\"{}\">{}</text>\n",
        path, colour, kMargin + 10, 44 + 16 * number, colour, name);
    ++number;
  }
  return text + "</svg>\n";
}

}  // namespace orrery::app
