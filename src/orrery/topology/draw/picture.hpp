// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A picture of a cluster in plain shapes: the layouts make it, draw_svg() writes it down. Pixels; y grows down.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/topology/cluster.hpp"
#include "orrery/topology/draw/bundles.hpp"

namespace orrery::topology {

struct Picture {
  /// A node, by its centre.
  struct Mark {
    NodeId node;
    double x = 0;
    double y = 0;
    double width = 0;
    std::string label;
  };
  /// A host or rack around its nodes.
  struct Frame {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;
    std::string label;
  };
  /// "... x128": where nodes or groups were left out.
  struct More {
    double x = 0;
    double y = 0;
    std::string label;
  };
  struct Line {
    std::uint32_t bundle = 0;
    double x1 = 0;
    double y1 = 0;
    double x2 = 0;
    double y2 = 0;
    double bend = 0;         ///< How far the middle is lifted.
    bool is_dashed = false;  ///< Goes on at the far side.
  };
  std::vector<Mark> marks;
  std::vector<Frame> frames;
  std::vector<More> mores;
  std::vector<Line> lines;
  std::vector<double> bundle_y;    ///< Where each bundle's label would best stand; negative = not drawn.
  std::vector<std::string> notes;  ///< What a reader must know about this way of drawing.
  double width = 0;
  double height = 0;
};

inline constexpr double kMarkHeight = 26;
inline constexpr double kMarkGap = 12;

/// The last level of a name: "gpu[1]" of "host[3].gpu[1]", "gpu.1" of "host.3.gpu.1".
[[nodiscard]] std::string short_name(std::string_view name);
/// Width of the box around a label.
[[nodiscard]] double mark_width(std::string_view label);

/// Rows of nodes by distance from the devices, hosts and racks framed, long runs of alike ones shortened.
[[nodiscard]] Picture lay_out_tiers(const Cluster& cluster, const Bundles& bundles);
/// A grid of hosts, when the graph is a mesh or torus of two or three dimensions; else an empty picture.
[[nodiscard]] Picture lay_out_grid(const Cluster& cluster, const Bundles& bundles);
/// Hosts around a circle, when there are few and nothing else; else an empty picture.
[[nodiscard]] Picture lay_out_circle(const Cluster& cluster, const Bundles& bundles);

}  // namespace orrery::topology
