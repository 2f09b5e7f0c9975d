// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What dataflow.hpp found out, for the capture: a line per wait,
///   HANDLE <tab> independent picoseconds <tab> picoseconds to compute again <tab> what is independent
#include <algorithm>
#include <deque>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "rank.hpp"

namespace orrery::live::shim {

/// The operators between the wait for one operation and the next post. Their times are asked for at the end, when most
/// is known of them.
class DataflowWindow {
 public:
  explicit DataflowWindow(std::uint64_t handle) : handle_{handle} {}

  void add_independent(std::uint64_t key, const std::string& place) { ++independent_[{place, key}]; }
  void add_again(std::uint64_t key, double share) { again_[key] += share; }

  /// No line when nothing is independent.
  void write(std::ostream& file) const {
    std::map<std::string, std::int64_t> places;
    std::int64_t independent = 0;
    for (const auto& [place, calls] : independent_) {
      const std::int64_t time = calls * orrery_operator_ps(place.second);
      independent += time;
      places[place.first] += time;
    }
    if (independent == 0) return;
    double again = 0;
    for (const auto& [key, share] : again_) again += share * static_cast<double>(orrery_operator_ps(key));
    file << handle_ << '\t' << independent << '\t' << static_cast<std::int64_t>(again) << '\t' << name(places)
         << '\n';
  }

 private:
  /// The lines that take most of it.
  static std::string name(const std::map<std::string, std::int64_t>& places) {
    std::vector<std::pair<std::int64_t, std::string>> sorted;
    for (const auto& [place, time] : places) sorted.emplace_back(-time, place);
    std::sort(sorted.begin(), sorted.end());
    constexpr std::size_t kMost = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(sorted.size(), kMost); ++i) {
      // Lines that add little would hide those that matter.
      if (i > 0 && sorted[i].first * 10 > sorted[0].first) break;
      text += (text.empty() ? "" : ", ") + sorted[i].second;
    }
    return text;
  }

  std::uint64_t handle_;
  std::map<std::pair<std::string, std::uint64_t>, std::int64_t> independent_;  ///< Place and key: calls.
  std::map<std::uint64_t, double> again_;                                      ///< Key: share of it.
};

inline void write_dataflow(const std::deque<DataflowWindow>& windows, const std::string& path) {
  std::ofstream file{path};
  for (const DataflowWindow& window : windows) window.write(file);
}

}  // namespace orrery::live::shim
