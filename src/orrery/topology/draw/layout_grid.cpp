// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "orrery/topology/draw/picture.hpp"

namespace orrery::topology {
namespace {

using Dims = std::array<std::size_t, 3>;
using Place = std::array<std::size_t, 3>;

Place place_of(std::size_t host, const Dims& dims) {
  return {host % dims[0], host / dims[0] % dims[1], host / dims[0] / dims[1]};
}

/// The dimension in which two neighbours differ, and whether their cable closes a ring; nullopt = no neighbours.
struct Step {
  std::size_t axis = 0;
  bool wraps = false;
};

std::optional<Step> step_between(const Place& a, const Place& b, const Dims& dims) {
  std::optional<Step> step;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (a[axis] == b[axis]) continue;
    const std::size_t apart = std::max(a[axis], b[axis]) - std::min(a[axis], b[axis]);
    if (step || (apart != 1 && apart + 1 != dims[axis])) return std::nullopt;
    step = Step{axis, apart != 1};
  }
  return step;
}

bool is_grid(const Graph& graph, const Dims& dims) {
  std::size_t mesh = 0;
  std::size_t torus = 0;
  for (const std::size_t size : dims) {
    mesh += graph.node_count() / size * (size - 1);
    torus += size > 2 ? graph.node_count() : graph.node_count() / size * (size - 1);
  }
  if (graph.edge_count() != mesh && graph.edge_count() != torus) return false;
  return std::ranges::all_of(graph.edges(), [&](const Graph::Edge& edge) {
    return step_between(place_of(edge.a.index(), dims), place_of(edge.b.index(), dims), dims).has_value();
  });
}

/// The dimensions of a mesh or torus of devices, numbered as the generators number them.
std::optional<Dims> find_dims(const Graph& graph) {
  const std::size_t count = graph.node_count();
  if (count < 4) return std::nullopt;
  for (std::size_t node = 0; node < count; ++node) {
    if (graph.kind(NodeId{node}) != NodeKind::kDevice) return std::nullopt;
  }
  for (std::size_t depth = 1; depth * 4 <= count; ++depth) {
    if (count % depth != 0) continue;
    for (std::size_t x = 2; x * 2 * depth <= count; ++x) {
      if (count / depth % x != 0) continue;
      const Dims dims{x, count / depth / x, depth};
      if (is_grid(graph, dims)) return dims;
    }
  }
  return std::nullopt;
}

/// Which places of one dimension are shown, and where.
struct Axis {
  std::vector<std::size_t> shown;
  bool is_short = false;
  [[nodiscard]] std::optional<double> slot(std::size_t place) const {
    const auto found = std::ranges::find(shown, place);
    if (found == shown.end()) return std::nullopt;
    const auto slot = static_cast<double>(found - shown.begin());
    return is_short && slot + 1 == static_cast<double>(shown.size()) ? slot + 1
                                                                     : slot;  // One slot for the dots.
  }
  [[nodiscard]] double slots() const { return static_cast<double>(shown.size()) + (is_short ? 1 : 0); }
};

Axis axis_of(std::size_t size, std::size_t most) {
  Axis axis;
  axis.is_short = size > most;
  for (std::size_t place = 0; place < (axis.is_short ? most / 2 : size); ++place) axis.shown.push_back(place);
  if (axis.is_short) axis.shown.push_back(size - 1);
  return axis;
}

class GridLayout {
 public:
  GridLayout(const Cluster& cluster, const Bundles& bundles, const Dims& dims)
      : graph_{cluster.graph},
        bundles_{bundles},
        dims_{dims},
        x_{axis_of(dims[0], 8)},
        y_{axis_of(dims[1], 8)},
        z_{axis_of(dims[2], 4)} {}

  Picture make() {
    const std::string widest = short_name(graph_.name(NodeId{graph_.node_count() - 1}));
    column_ = mark_width(widest) + 34;
    plane_ = x_.slots() * column_ + 50;
    picture_.width = plane_ * z_.slots();
    picture_.height = y_.slots() * kRowHeight + 70;
    picture_.bundle_y.assign(bundles_.all.size(), kMarkHeight);
    add_marks();
    add_dots();
    add_lines();
    add_notes();
    return std::move(picture_);
  }

 private:
  static constexpr double kRowHeight = 72;
  static constexpr double kStub = 22;
  struct Spot {
    double x = 0;
    double y = 0;
  };

  [[nodiscard]] std::optional<Spot> spot_of(const Place& place) const {
    const auto x = x_.slot(place[0]);
    const auto y = y_.slot(place[1]);
    const auto z = z_.slot(place[2]);
    if (!x || !y || !z) return std::nullopt;
    return Spot{*z * plane_ + (*x + 0.5) * column_ + 12, (*y + 0.5) * kRowHeight + 20};
  }

  void add_marks() {
    for (std::size_t host = 0; host < graph_.node_count(); ++host) {
      const auto spot = spot_of(place_of(host, dims_));
      if (!spot) continue;
      std::string label = short_name(graph_.name(NodeId{host}));
      const double width = mark_width(label);
      picture_.marks.push_back({NodeId{host}, spot->x, spot->y, width, std::move(label)});
    }
  }

  void add_dots() {
    for (const std::size_t z : z_.shown) {
      if (const Spot at = *spot_of({0, 0, z}); dims_[2] > 1) {
        picture_.frames.push_back({at.x - column_ / 2 - 6, at.y - kRowHeight / 2 - 4, plane_ - 22,
                                   y_.slots() * kRowHeight + 24, fmt::format("plane {}", z)});
      }
      for (const std::size_t y : y_.shown) {
        if (x_.is_short) {
          picture_.mores.push_back({spot_of({dims_[0] - 1, y, z})->x - column_, spot_of({0, y, z})->y,
                                    y == 0 ? fmt::format("x{}", dims_[0]) : ""});
        }
      }
      for (const std::size_t x : x_.shown) {
        if (y_.is_short) {
          picture_.mores.push_back({spot_of({x, 0, z})->x, spot_of({x, dims_[1] - 1, z})->y - kRowHeight,
                                    x == 0 ? fmt::format("x{}", dims_[1]) : ""});
        }
      }
    }
    if (z_.is_short) {
      picture_.mores.push_back({spot_of({0, 0, dims_[2] - 1})->x - plane_ / 2 - column_, picture_.height / 2,
                                fmt::format("x{} planes", dims_[2])});
    }
  }

  void add_lines() {
    for (std::size_t i = 0; i < graph_.edge_count(); ++i) {
      const Place a = place_of(graph_.edges()[i].a.index(), dims_);
      const Place b = place_of(graph_.edges()[i].b.index(), dims_);
      const Step step = *step_between(a, b, dims_);
      if (step.axis == 2) continue;
      const bool a_first = a[step.axis] < b[step.axis];
      const auto low = spot_of(a_first ? a : b);
      const auto high = spot_of(a_first ? b : a);
      if (step.wraps) {
        if (low) add_stub(*low, step.axis, -1, bundles_.of_edge[i]);
        if (high) add_stub(*high, step.axis, 1, bundles_.of_edge[i]);
        has_wraps_ = true;
      } else if (low && high) {
        picture_.lines.push_back({bundles_.of_edge[i], low->x, low->y, high->x, high->y, 0, false});
      }
    }
  }

  /// The visible beginning of a cable that goes round to the other side.
  void add_stub(const Spot& at, std::size_t axis, double side, std::uint32_t bundle) {
    const double reach = side * (axis == 0 ? column_ / 2 + 4 : kMarkHeight / 2 + kStub - 6);
    picture_.lines.push_back(
        {bundle, at.x, at.y, at.x + (axis == 0 ? reach : 0), at.y + (axis == 1 ? reach : 0), 0, true});
  }

  void add_notes() {
    picture_.notes.push_back(dims_[2] > 1 ? fmt::format("grid of {} x {} x {}", dims_[0], dims_[1], dims_[2])
                                          : fmt::format("grid of {} x {}", dims_[0], dims_[1]));
    if (has_wraps_) picture_.notes.emplace_back("dashed: the cable goes on at the other side");
    if (dims_[2] > 1) {
      picture_.notes.emplace_back("cables between planes join equal places and are not drawn");
    }
  }

  const Graph& graph_;
  const Bundles& bundles_;
  const Dims dims_;
  const Axis x_, y_, z_;
  double column_ = 0;
  double plane_ = 0;
  bool has_wraps_ = false;
  Picture picture_;
};

}  // namespace

Picture lay_out_grid(const Cluster& cluster, const Bundles& bundles) {
  const auto dims = find_dims(cluster.graph);
  return dims ? GridLayout{cluster, bundles, *dims}.make() : Picture{};
}

}  // namespace orrery::topology
