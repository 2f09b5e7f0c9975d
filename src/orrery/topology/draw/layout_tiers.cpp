// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "orrery/topology/draw/outline.hpp"
#include "orrery/topology/draw/picture.hpp"
#include "orrery/topology/draw/tiers.hpp"

namespace orrery::topology {
namespace {

constexpr double kFramePad = 10;
constexpr double kFrameLabel = 16;  // Room below the lowest row of a frame for its name.
constexpr double kFrameGap = 16;
constexpr double kMoreWidth = 46;
constexpr double kRow = 116;
constexpr double kRowWithArcs = 150;
constexpr double kHighestArc = 90;
// More than this is a wall, not a picture: runs are shortened until it fits, or as far as they can be.
constexpr std::size_t kMostMarks = 56;
constexpr double kWidest = 1500;
constexpr std::array<std::size_t, 5> kRunLimits{16, 8, 4, 3, 2};

/// Part of a group that takes a stretch of some rows: a run of groups, or one row of the group's own nodes.
struct Unit {
  int low = 0;
  int high = 0;
  std::vector<OutlineRun> runs;
  bool holds_groups = false;
  std::size_t place = 0;  ///< Among the units of its group, left to right.
  double width = 0;
};

/// Units whose rows overlap stand side by side; bands stand above each other.
struct Band {
  int high = 0;
  std::vector<Unit> units;
  double width = 0;
};

class TierLayout {
 public:
  TierLayout(const Cluster& cluster, const Bundles& bundles)
      : cluster_{cluster}, bundles_{bundles}, tiers_{tiers_of(cluster)}, outline_{cluster, tiers_} {}

  Picture make() {
    mark_of_node_.assign(cluster_.graph.node_count(), UINT32_MAX);
    picture_.bundle_y.assign(bundles_.all.size(), -1);
    for (const std::size_t limit : kRunLimits) {
      outline_.set_limit(limit);
      if (outline_.count_shown() <= kMostMarks && group_width(0) <= kWidest) break;
    }
    const OutlineGroup& root = outline_.group(0);
    double top = kMarkHeight + kFramePad * frame_depth(0);
    for (const Graph::Edge& edge : cluster_.graph.edges()) {
      if (tiers_[edge.a.index()] != tiers_[edge.b.index()]) continue;
      row_ = kRowWithArcs;
      if (tiers_[edge.a.index()] == root.high) top = kHighestArc + kMarkHeight;
    }
    base_ = top + row_ * root.high;
    place(0, 0, frame_depth(0));
    picture_.width = group_width(0);
    picture_.height = base_ + kMarkHeight + (kFramePad + kFrameLabel) * frame_depth(0) + 14;
    connect();
    return std::move(picture_);
  }

 private:
  [[nodiscard]] double y_of(int tier) const { return base_ - row_ * tier; }

  /// How many frames stand inside each other here.
  [[nodiscard]] int frame_depth(std::uint32_t index) const {
    int depth = 0;
    for (const OutlineRun& run : outline_.group_runs(index)) {
      for (const std::uint32_t below : run.shown) {
        depth = std::max(depth, frame_depth(below) + (outline_.is_framed(below) ? 1 : 0));
      }
    }
    return depth;
  }

  [[nodiscard]] double run_width(const OutlineRun& run, bool holds_groups) const {
    double width = run.is_short() ? kMoreWidth : 0;
    for (const std::uint32_t entry : run.shown) {
      width += holds_groups ? framed_width(entry) + kFrameGap
                            : mark_width(short_name(cluster_.graph.name(NodeId{entry}))) + kMarkGap;
    }
    return width;
  }

  [[nodiscard]] double framed_width(std::uint32_t index) const {
    const double inner = group_width(index);
    if (!outline_.is_framed(index)) return inner;
    return std::max(inner, mark_width(outline_.group(index).name)) + 2 * kFramePad;
  }

  [[nodiscard]] double group_width(std::uint32_t index) const {
    double width = 0;
    for (const Band& band : bands_of(index)) width = std::max(width, band.width);
    return width;
  }

  [[nodiscard]] std::vector<Band> bands_of(std::uint32_t index) const {
    std::vector<Unit> units;
    for (OutlineRun& run : outline_.group_runs(index)) {
      Unit unit{.low = outline_.group(run.shown[0]).low,
                .high = outline_.group(run.shown[0]).high,
                .runs = {},
                .holds_groups = true};
      for (const std::uint32_t below : run.shown) {
        unit.low = std::min(unit.low, outline_.group(below).low);
        unit.high = std::max(unit.high, outline_.group(below).high);
      }
      unit.runs.push_back(std::move(run));
      units.push_back(std::move(unit));
    }
    for (int tier = outline_.group(index).low; tier <= outline_.group(index).high; ++tier) {
      std::vector<OutlineRun> runs = outline_.node_runs(index, tier);
      if (!runs.empty()) units.push_back({.low = tier, .high = tier, .runs = std::move(runs)});
    }
    for (std::size_t i = 0; i < units.size(); ++i) units[i].place = i;
    std::ranges::sort(units, {}, [](const Unit& unit) { return std::pair{unit.low, unit.place}; });
    std::vector<Band> bands;
    for (Unit& unit : units) {
      for (const OutlineRun& run : unit.runs) unit.width += run_width(run, unit.holds_groups);
      if (bands.empty() || unit.low > bands.back().high) bands.emplace_back();
      bands.back().high = std::max(bands.back().high, unit.high);
      bands.back().width += unit.width;
      bands.back().units.push_back(std::move(unit));
    }
    return bands;
  }

  /// Places a group's content from `x` on; `depth` frames may stand inside.
  void place(std::uint32_t index, double x, int depth) {
    const double width = group_width(index);
    for (const Band& band : bands_of(index)) {
      double at = x + (width - band.width) / 2;
      for (const Unit& unit : band.units) {
        for (const OutlineRun& run : unit.runs) at = place_run(run, unit, at, depth);
      }
    }
  }

  double place_run(const OutlineRun& run, const Unit& unit, double at, int depth) {
    for (std::size_t i = 0; i < run.shown.size(); ++i) {
      if (run.is_short() && i + 1 == run.shown.size()) {
        const double middle = (y_of(unit.low) + y_of(unit.high)) / 2;
        picture_.mores.push_back(
            {at + kMoreWidth / 2 - kMarkGap / 2, middle, fmt::format("x{}", grouped(run.total))});
        at += kMoreWidth;
      }
      if (unit.holds_groups) {
        const double width = framed_width(run.shown[i]);
        place_group(run.shown[i], at, width, depth);
        at += width + kFrameGap;
      } else {
        at = place_node(NodeId{run.shown[i]}, at);
      }
    }
    return at;
  }

  double place_node(NodeId node, double at) {
    std::string label = short_name(cluster_.graph.name(node));
    const double width = mark_width(label);
    mark_of_node_[node.index()] = static_cast<std::uint32_t>(picture_.marks.size());
    picture_.marks.push_back({node, at + width / 2, y_of(tiers_[node.index()]), width, std::move(label)});
    return at + width + kMarkGap;
  }

  void place_group(std::uint32_t index, double at, double width, int depth) {
    const OutlineGroup& group = outline_.group(index);
    if (!outline_.is_framed(index)) return place(index, at, depth);
    const double top = y_of(group.high) - kMarkHeight / 2 - kFramePad * depth;
    const double bottom = y_of(group.low) + kMarkHeight / 2 + (kFramePad + kFrameLabel) * depth;
    picture_.frames.push_back({at, top, width, bottom - top, group.name});
    place(index, at + (width - group_width(index)) / 2 + kMarkGap / 2, depth - 1);
  }

  /// One line for each bundle between two nodes that are shown.
  void connect() {
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> drawn;
    for (std::size_t i = 0; i < cluster_.graph.edge_count(); ++i) {
      const Graph::Edge& edge = cluster_.graph.edges()[i];
      const auto [a, b] = std::minmax(mark_of_node_[edge.a.index()], mark_of_node_[edge.b.index()]);
      if (b != UINT32_MAX) drawn.emplace_back(a, b, bundles_.of_edge[i]);
    }
    std::ranges::sort(drawn);
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
    for (const auto& [a, b, bundle] : drawn) {
      const bool a_is_lower = picture_.marks[a].y >= picture_.marks[b].y;
      const Picture::Mark& lower = picture_.marks[a_is_lower ? a : b];
      const Picture::Mark& upper = picture_.marks[a_is_lower ? b : a];
      const bool is_level = lower.y == upper.y;
      const double end = is_level ? upper.y - kMarkHeight / 2 : upper.y + kMarkHeight / 2;
      const double bend = is_level ? std::min(kHighestArc, 14 + std::abs(lower.x - upper.x) * 0.16) : 0;
      picture_.lines.push_back({bundle, lower.x, lower.y - kMarkHeight / 2, upper.x, end, bend, false});
      double& label = picture_.bundle_y[bundle];
      if (label < 0) label = is_level ? lower.y - 20 : (lower.y + upper.y) / 2;
    }
    // A bundle none of whose links is between shown nodes is still listed, at the bottom.
    for (double& label : picture_.bundle_y) label = label < 0 ? picture_.height : label;
  }

  const Cluster& cluster_;
  const Bundles& bundles_;
  const std::vector<int> tiers_;
  Outline outline_;
  double row_ = kRow;
  double base_ = 0;
  std::vector<std::uint32_t> mark_of_node_;
  Picture picture_;
};

}  // namespace

Picture lay_out_tiers(const Cluster& cluster, const Bundles& bundles) {
  return TierLayout{cluster, bundles}.make();
}

}  // namespace orrery::topology
