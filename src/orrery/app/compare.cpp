// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace orrery::app {
namespace {

using Figure = std::function<double(const RunSample&)>;

std::vector<double> values_of(const ComparedRun& run, const Figure& figure) {
  std::vector<double> values;
  for (const RunSample& sample : run.samples) values.push_back(figure(sample));
  return values;
}

Difference difference_of(const std::string& name, const Comparison& runs, const Figure& figure) {
  const std::vector<double> a = values_of(runs.a, figure);
  const std::vector<double> b = values_of(runs.b, figure);
  Difference difference;
  difference.name = name;
  difference.a = median(a);
  difference.b = median(b);
  difference.a_interval = median_interval(a);
  difference.b_interval = median_interval(b);
  difference.relative = difference.b == 0 ? 0 : difference.a / difference.b - 1;
  if (a.size() > 1 || b.size() > 1) difference.relative_interval = ratio_interval(a, b);
  difference.p_value = mann_whitney(a, b);
  return difference;
}

Figure mean_over_ranks(const std::string& name) {
  return [name](const RunSample& sample) {
    double sum = 0;
    for (const auto& rank : sample.ranks) sum += rank.at(name);
    return sample.ranks.empty() ? 0 : sum / static_cast<double>(sample.ranks.size());
  };
}

/// Per rank.
Figure of_operation(const std::string& name, double RunSample::Operation::* part) {
  return [=](const RunSample& sample) {
    const auto found = sample.operations.find(name);
    if (found == sample.operations.end()) return 0.0;
    return found->second.*part / std::max<double>(1, static_cast<double>(sample.ranks.size()));
  };
}

/// Of a long text the part around `place`.
std::string shown(const std::string& text, std::size_t place) {
  constexpr std::size_t kLongest = 60;
  constexpr std::size_t kBefore = 20;
  if (text.empty()) return "none";
  if (text.size() <= kLongest) return text;
  const std::size_t begin = place > kBefore ? place - kBefore : 0;
  const bool is_end = text.size() - begin <= kLongest;
  return fmt::format("{}{}{}", begin > 0 ? "..." : "", text.substr(begin, kLongest), is_end ? "" : "...");
}

std::vector<std::string> unlike_settings(const ComparedRun& a, const ComparedRun& b) {
  std::vector<std::string> notes;
  for (const auto& [name, value] : a.settings) {
    const auto other = b.settings.find(name);
    if (other == b.settings.end() || other->second == value) continue;
    const auto place = static_cast<std::size_t>(std::ranges::mismatch(value, other->second).in1 - value.begin());
    notes.push_back(
        fmt::format("unlike {}: {} in A, {} in B", name, shown(value, place), shown(other->second, place)));
  }
  return notes;
}

}  // namespace

Comparison compare_runs(const std::string& a, const std::string& b) {
  Comparison result;
  result.a = read_run(a);
  result.b = read_run(b);
  result.notes = unlike_settings(result.a, result.b);
  const std::vector<std::string> parts{"compute", "communication", "waiting", "sleeping"};
  result.figures.push_back(
      difference_of("total", result, [](const RunSample& sample) { return sample.total; }));
  for (const std::string& part : parts) {
    result.figures.push_back(difference_of(part, result, mean_over_ranks(part)));
  }
  const std::size_t ranks = std::min(result.a.samples[0].ranks.size(), result.b.samples[0].ranks.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<Difference>& own = result.ranks.emplace_back();
    for (const std::string& part : parts) {
      own.push_back(difference_of(part, result, [&](const RunSample& sample) {
        return rank < sample.ranks.size() ? sample.ranks[rank].at(part) : 0.0;
      }));
    }
  }
  std::set<std::string> names;
  for (const ComparedRun* run : {&result.a, &result.b}) {
    for (const RunSample& sample : run->samples) {
      for (const auto& [name, operation] : sample.operations) names.insert(name);
    }
  }
  const double total = result.figures[0].a - result.figures[0].b;
  for (const std::string& name : names) {
    using Operation = RunSample::Operation;
    ComparedOperation one;
    one.time = difference_of(name, result, of_operation(name, &Operation::time));
    one.waiting = difference_of(name, result, of_operation(name, &Operation::waiting));
    one.a_calls = median(values_of(result.a, of_operation(name, &Operation::calls)));
    one.b_calls = median(values_of(result.b, of_operation(name, &Operation::calls)));
    one.share = total == 0 ? 0 : (one.time.a - one.time.b) / total;
    result.operations.push_back(std::move(one));
  }
  std::ranges::stable_sort(result.operations, std::greater{}, [](const ComparedOperation& one) {
    return std::abs(one.time.a - one.time.b) + std::abs(one.waiting.a - one.waiting.b);
  });
  return result;
}

}  // namespace orrery::app
