// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include "orrery/topology/draw/picture.hpp"

namespace orrery::topology {
namespace {

struct Style {
  const char* fill;
  const char* stroke;
};

Style style_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kDevice:
      return {"#dbeafe", "#1d4ed8"};
    case NodeKind::kSwitch:
      return {"#fef3c7", "#b45309"};
    case NodeKind::kNic:
      return {"#dcfce7", "#15803d"};
    case NodeKind::kCpu:
      return {"#f3e8ff", "#7e22ce"};
    case NodeKind::kMemory:
      return {"#fee2e2", "#b91c1c"};
    case NodeKind::kPort:
    case NodeKind::kOther:
      return {"#f1f5f9", "#475569"};
  }
  return {"#f1f5f9", "#475569"};
}

constexpr std::array kLineColors{"#1d4ed8", "#c2410c", "#15803d", "#7e22ce", "#b91c1c",
                                 "#0e7490", "#a16207", "#be185d", "#334155", "#4d7c0f"};
constexpr double kMargin = 24;
constexpr double kHead = 72;
constexpr double kLabelRow = 40;
constexpr std::size_t kMostBundles = 14;

const char* color_of(std::size_t bundle) { return kLineColors[bundle % kLineColors.size()]; }

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // Control characters are not XML.
    }
  }
  return safe;
}

/// Writes shapes to text; coordinates get one decimal, which keeps files small and the same everywhere.
class SvgWriter {
 public:
  explicit SvgWriter(const Cluster& cluster) : cluster_{cluster}, bundles_{bundle_links(cluster.graph)} {}

  std::string write() {
    picture_ = lay_out_grid(cluster_, bundles_);
    if (picture_.marks.empty()) picture_ = lay_out_circle(cluster_, bundles_);
    if (picture_.marks.empty()) picture_ = lay_out_tiers(cluster_, bundles_);
    left_ = kMargin + side_width();
    const double labels_height =
        kLabelRow * static_cast<double>(std::min(bundles_.all.size(), kMostBundles) + 1);
    const double body = std::max(picture_.height, labels_height);
    const double width = std::max(left_ + picture_.width + kMargin, 640.0);
    const double height = kHead + body + 3 * kMargin + 10;
    out("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#0f172a\">\n",
        width, height);
    out("<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#ffffff\"/>\n", width, height);
    write_head();
    write_frames();
    write_lines();
    write_marks();
    write_labels();
    write_legend(kHead + body + kMargin);
    text_ += "</svg>\n";
    return std::move(text_);
  }

 private:
  template <class... Values>
  void out(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  /// Room for the labels of the links, left of the picture.
  [[nodiscard]] double side_width() const {
    std::size_t longest = 12;
    for (const Bundle& bundle : bundles_.all) {
      longest = std::max({longest, bundle.ends.size(), describe(bundle).size()});
    }
    return 34 + 6.1 * static_cast<double>(std::min<std::size_t>(longest, 60));
  }

  void write_head() {
    const std::set<NodeId> seats(cluster_.ranks.begin(), cluster_.ranks.end());
    out("<text x=\"{:.0f}\" y=\"32\" font-size=\"18\" font-weight=\"bold\">{}</text>\n", kMargin,
        escaped(cluster_.name.substr(0, 110)));
    out("<text x=\"{:.0f}\" y=\"52\" fill=\"#334155\">{} ranks on {} nodes; {} nodes and {} cables in "
        "all</text>\n",
        kMargin, grouped(cluster_.ranks.size()), grouped(seats.size()), grouped(cluster_.graph.node_count()),
        grouped(cluster_.graph.edge_count()));
  }

  void write_frames() {
    for (const Picture::Frame& frame : picture_.frames) {
      out("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\" fill=\"#f8fafc\" "
          "stroke=\"#94a3b8\"/>\n",
          left_ + frame.x, kHead + frame.y, frame.width, frame.height);
    }
  }

  void write_lines() {
    for (const Picture::Line& line : picture_.lines) {
      const char* dash = line.is_dashed ? " stroke-dasharray=\"4 3\"" : "";
      const double x1 = left_ + line.x1;
      const double x2 = left_ + line.x2;
      const double y1 = kHead + line.y1;
      const double y2 = kHead + line.y2;
      if (line.bend > 0) {
        out("<path d=\"M{:.1f} {:.1f} Q{:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" "
            "stroke-width=\"1.2\"{}/>\n",
            x1, y1, (x1 + x2) / 2, (y1 + y2) / 2 - 2 * line.bend, x2, y2, color_of(line.bundle), dash);
      } else {
        out("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
            "stroke-width=\"1.2\"{}/>\n",
            x1, y1, x2, y2, color_of(line.bundle), dash);
      }
    }
  }

  void write_marks() {
    for (const Picture::Mark& mark : picture_.marks) {
      const Style style = style_of(cluster_.graph.kind(mark.node));
      out("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" rx=\"4\" fill=\"{}\" "
          "stroke=\"{}\"><title>{}</title></rect>\n",
          left_ + mark.x - mark.width / 2, kHead + mark.y - kMarkHeight / 2, mark.width, kMarkHeight,
          style.fill, style.stroke, escaped(cluster_.graph.name(mark.node)));
      out("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", left_ + mark.x,
          kHead + mark.y + 4, escaped(mark.label));
    }
    for (const Picture::Frame& frame : picture_.frames) {
      const double width = 6.6 * static_cast<double>(frame.label.size()) + 6;
      const double x = left_ + frame.x + frame.width / 2;
      const double y = kHead + frame.y + frame.height - 6;
      out("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"14\" fill=\"#f8fafc\"/>\n",
          x - width / 2, y - 11, width);
      out("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-weight=\"bold\" "
          "fill=\"#334155\">{}</text>\n",
          x, y, escaped(frame.label));
    }
    for (const Picture::More& more : picture_.mores) {
      for (const double shift : {-7.0, 0.0, 7.0}) {
        out("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\" fill=\"#0f172a\"/>\n", left_ + more.x + shift,
            kHead + more.y);
      }
      if (more.label.empty()) continue;
      const double width =
          6.4 * static_cast<double>(more.label.size()) + 4;  // Links must not run through the count.
      out("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"13\" fill=\"#ffffff\" "
          "fill-opacity=\"0.85\"/>\n",
          left_ + more.x - width / 2, kHead + more.y + 6, width);
      out("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>\n",
          left_ + more.x, kHead + more.y + 16, escaped(more.label));
    }
  }

  /// Beside the rows the links join, pushed apart where they would touch.
  void write_labels() {
    std::vector<std::size_t> order(bundles_.all.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair{picture_.bundle_y[i], i}; });
    const std::size_t shown = std::min(order.size(), kMostBundles);
    // From the bottom up first, so that a crowd at the bottom has room, then from the top down.
    std::vector<double> at(shown);
    double limit = std::max(picture_.height, kLabelRow * static_cast<double>(shown + 1)) - kLabelRow / 2;
    for (std::size_t i = shown; i-- > 0; limit = at[i] - kLabelRow) {
      at[i] = std::min(picture_.bundle_y[order[i]], limit);
    }
    double floor = 10;
    for (std::size_t i = 0; i < shown; ++i) {
      at[i] = std::max(at[i], floor);
      floor = at[i] + kLabelRow;
      const Bundle& bundle = bundles_.all[order[i]];
      const double y = kHead + at[i];
      out("<line x1=\"{0:.0f}\" y1=\"{1:.1f}\" x2=\"{2:.0f}\" y2=\"{1:.1f}\" stroke=\"{3}\" "
          "stroke-width=\"3\"/>\n",
          kMargin, y - 4, kMargin + 18, color_of(order[i]));
      out("<text x=\"{:.0f}\" y=\"{:.1f}\" font-weight=\"bold\">{}</text>\n", kMargin + 24, y,
          escaped(bundle.ends.substr(0, 60)));
      out("<text x=\"{:.0f}\" y=\"{:.1f}\">{}</text>\n", kMargin + 24, y + 14,
          escaped(describe(bundle).substr(0, 60)));
    }
    if (order.size() > shown) {
      out("<text x=\"{:.0f}\" y=\"{:.1f}\">and {} more kinds of links</text>\n", kMargin + 24, kHead + floor,
          order.size() - shown);
    }
  }

  void write_legend(double y) {
    std::map<NodeKind, std::size_t> kinds;
    for (std::size_t node = 0; node < cluster_.graph.node_count(); ++node) {
      ++kinds[cluster_.graph.kind(NodeId{node})];
    }
    double x = kMargin;
    for (const auto& [kind, count] : kinds) {
      const Style style = style_of(kind);
      const std::string label = fmt::format("{} ({})", to_text(kind), grouped(count));
      out("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"12\" rx=\"3\" fill=\"{}\" stroke=\"{}\"/>\n",
          x, y, style.fill, style.stroke);
      out("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 20, y + 10, label);
      x += 42 + 6.4 * static_cast<double>(label.size());
    }
    std::vector<std::string> notes = picture_.notes;
    if (!picture_.mores.empty()) notes.emplace_back("dots: alike ones are left out, xN counts them all");
    std::string joined;
    for (const std::string& note : notes) joined += (joined.empty() ? "" : "; ") + note;
    if (!joined.empty()) {
      out("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#334155\">{}</text>\n", kMargin, y + 30, escaped(joined));
    }
  }

  const Cluster& cluster_;
  const Bundles bundles_;
  Picture picture_;
  double left_ = 0;
  std::string text_;
};

}  // namespace

std::string draw_svg(const Cluster& cluster) { return SvgWriter{cluster}.write(); }

}  // namespace orrery::topology
