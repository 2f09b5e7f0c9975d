// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery calibrate`: measures gloo on this host, and writes the cluster file whose simulation comes nearest.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "orrery/live/launch.hpp"

namespace orrery::app {

struct CalibrateOptions {
  std::string what;  ///< "network", "collectives" or "host".
  std::int64_t ranks = 2;
  std::int64_t repeat = 5;  ///< Launches.
  std::string link;         ///< As of a real run.
  std::string output;       ///< Cluster file, or "".
  std::string picture;      ///< SVG, or "".
  std::string plan;         ///< File to write what is to be measured to, and nothing else; or "".
  std::string keep;         ///< Folder to make for what is measured, to be fitted later; or "".
  std::string from;         ///< Folder of such, or of recordings of other hosts, to fit instead of measuring; or "".
  bool is_elsewhere = false;  ///< `from` is of other hosts: nothing can be computed there now.
  live::LaunchOptions launch;
  std::vector<std::string> command;
  std::string option_prefix;
  std::function<bool()> wants_stop;
  std::function<void(const std::string&)> say;
};

/// One operation at one size.
struct CalibrationPoint {
  std::string operation;  ///< As `orrery collective` calls it.
  std::int64_t size = 0;  ///< The whole buffer.
  double measured_ps = 0;
  double idle_ps = 0;  ///< From a rank's last operation to its call.
  double spread = 0;   ///< Half of the range between the launches' means, relative.
  double simulated_ps = 0;
  bool is_held_out = false;
};

/// How an operation takes longer after a pause.
struct WakingPoint {
  std::string operation;
  std::int64_t size = 0;
  double idle_ps = 0;
  double measured_ps = 0;
};

/// A time of an operation beside its points.
struct SizedTime {
  std::string operation;
  std::int64_t size = 0;
  double time_ps = 0;
};

/// One value of the cluster file.
struct CalibratedValue {
  std::string name;
  double value = 0;  ///< Seconds, bits per second, or a factor.
  std::string text;  ///< As written.
};

struct Calibration {
  std::string name;
  std::string what;
  std::int64_t ranks = 0;
  std::vector<CalibratedValue> values;
  std::vector<CalibrationPoint> points;
  std::vector<WakingPoint> waking;
  std::vector<SizedTime> alone;    ///< In a group of one rank.
  std::vector<SizedTime> overlap;  ///< How much longer a rank computes while the operation is under way.
  std::size_t launches = 0;        ///< That were measured.
  double fitted_error = 0;                               ///< Median of |simulated / measured - 1|.
  double held_out_error = 0;                             ///< The same over sizes that were not fitted.
  std::vector<std::pair<std::string, double>> slowdown;  ///< Of computing when all ranks run at once.
  std::string file;                                      ///< The cluster file.
  std::vector<std::string> notes;
};

[[nodiscard]] Calibration calibrate(const CalibrateOptions& options);
[[nodiscard]] std::string to_json(const Calibration& calibration);
[[nodiscard]] std::string to_svg(const Calibration& calibration);

}  // namespace orrery::app
