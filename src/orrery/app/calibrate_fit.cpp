// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate_fit.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "orrery/app/collective.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/pinned.hpp"

namespace orrery::app {
namespace {

constexpr double kSecond = 1e12;  // In picoseconds.

/// A cluster file for a moment.
class TemporaryFile : Pinned {
 public:
  explicit TemporaryFile(const std::string& text) {
    path_ = (std::filesystem::temp_directory_path() / fmt::format("orrery-calibrate-{}.yaml", ::getpid()))
                .string();
    OutputFile file{path_};
    file.write(text);
    file.commit();
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

double error_of(const std::vector<CalibrationPoint>& points) {
  double sum = 0;
  double count = 0;
  for (const CalibrationPoint& point : points) {
    if (point.is_held_out) continue;
    sum += std::abs(std::log(std::max(point.simulated_ps, 1.0) / point.measured_ps));
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

constexpr std::array<double ClusterValues::*, 6> kFree{&ClusterValues::operation, &ClusterValues::message,
                                                       &ClusterValues::latency,   &ClusterValues::bandwidth,
                                                       &ClusterValues::reduce,    &ClusterValues::copy};

std::int64_t picoseconds(double seconds) {
  return std::max<std::int64_t>(0, std::llround(seconds * kSecond));
}

}  // namespace

std::string cluster_text(const ClusterValues& values, const std::string& name, std::int64_t ranks) {
  const auto nanoseconds = [](double seconds) { return fmt::format("{}ns", picoseconds(seconds) / 1000); };
  const auto rate = [](double bytes) { return fmt::format("{}kBps", std::llround(bytes / 1e3)); };
  const std::string link = fmt::format("{{bandwidth: {}, latency: {}, duplex: {}}}", rate(values.bandwidth),
                                       nanoseconds(ranks == 2 ? values.latency : values.latency / 2),
                                       values.is_half_duplex ? "half" : "full");
  std::string text = fmt::format("name: {}\ndevices:\n  host:\n", name);
  text += fmt::format("    compute_scale: {:.4f}\n", values.compute_scale);
  text += fmt::format("    operation_overhead: {}\n", nanoseconds(values.operation));
  text += fmt::format("    send_overhead: {}\n", nanoseconds(values.message));
  text += fmt::format("    receive_overhead: {}\n", nanoseconds(values.message));
  text += fmt::format("    reduce_bandwidth: {}\n", rate(values.reduce));
  text += fmt::format("    copy_bandwidth: {}\n", rate(values.copy));
  text += fmt::format("nodes:\n  process: {{count: {}, device: host}}\n", ranks);
  if (ranks == 2) return text + fmt::format("links:\n  process[0] - process[1]: {}\n", link);
  return text + fmt::format("  bridge: {{kind: switch}}\nlinks:\n  process[*] - bridge: {}\n", link);
}

void simulate_points(const ClusterValues& values, std::int64_t ranks, std::vector<CalibrationPoint>& points,
                     const std::function<bool()>& wants_stop) {
  const TemporaryFile file{cluster_text(values, "candidate", ranks)};
  std::map<std::string, std::set<std::int64_t>> sizes;
  for (const CalibrationPoint& point : points) sizes[point.operation].insert(point.size);
  std::map<std::pair<std::string, std::int64_t>, double> times;
  for (const auto& [operation, wanted] : sizes) {
    CollectiveOptions options;
    options.operation = operation;
    options.cluster = file.path();
    if (operation != "barrier") options.size.clear();
    for (const std::int64_t size : wanted) {
      if (operation != "barrier") options.size += fmt::format("{}{}B", options.size.empty() ? "" : ",", size);
    }
    options.algorithm = "gloo";
    options.wants_stop = wants_stop;
    // A message needs no thread: it is posted by the caller itself.
    const double outside = operation == "send_recv" ? values.operation * kSecond : 0;
    const CollectiveResult result = collective(options);
    for (const CollectiveRow& row : result.rows) {
      times[{operation, row.size_bytes}] = static_cast<double>(row.time_ps) - outside;
    }
  }
  for (CalibrationPoint& point : points) {
    const auto found = times.find({point.operation, point.size});
    if (found == times.end()) {
      throw InputError{fmt::format("{} of {} bytes was not simulated", point.operation, point.size)};
    }
    point.simulated_ps = found->second;
  }
}

ClusterValues fit_values(ClusterValues start, std::int64_t ranks, std::vector<CalibrationPoint>& points,
                         const std::function<bool()>& wants_stop) {
  const auto error_with = [&](const ClusterValues& values) {
    simulate_points(values, ranks, points, wants_stop);
    return error_of(points);
  };
  ClusterValues best = start;
  double least = error_with(best);
  for (const bool is_half : {false, true}) {
    ClusterValues now = start;
    now.is_half_duplex = is_half;
    double error = error_with(now);
    constexpr double kFirst = 2.0;
    constexpr double kLast = 1.005;
    constexpr double kLargest = 1e12;   // Bytes per second: as good as free.
    constexpr double kSmallest = 1e-8;  // Seconds.
    for (double step = kFirst; step > kLast;) {
      bool has_improved = false;
      for (double ClusterValues::* value : kFree) {
        for (const double factor : {step, 1 / step}) {
          ClusterValues tried = now;
          tried.*value *= factor;
          if (tried.*value > kLargest || tried.*value < kSmallest) continue;
          const double tried_error = error_with(tried);
          if (tried_error >= error) continue;
          now = tried;
          error = tried_error;
          has_improved = true;
          break;
        }
      }
      if (!has_improved) step = std::sqrt(step);
    }
    if (error < least) {
      least = error;
      best = now;
    }
  }
  simulate_points(best, ranks, points, wants_stop);
  return best;
}

}  // namespace orrery::app
