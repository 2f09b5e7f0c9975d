// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate_notice.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/app/calibrate_plan.hpp"
#include "orrery/app/statistics.hpp"

namespace orrery::app {
namespace {

constexpr std::size_t kLeast = 16;  // Calls of a size that say something.

/// A call, and whether its directions followed each other.
struct Sorted {
  double size = 0;
  double delay = 0;
  bool is_apart = false;
};

/// Of one size: between the times of those that come together and of those that come last lies a limit. Nothing when
/// these are no slower.
std::vector<Sorted> sort_calls(std::vector<LateCall> calls) {
  constexpr double kSlower = 1.2;
  constexpr std::size_t kPart = 8;  // As many as come together, and as come last.
  std::ranges::sort(calls, {}, &LateCall::delay);
  std::vector<double> times;
  for (const LateCall& call : calls) times.push_back(call.time);
  const auto part = static_cast<std::ptrdiff_t>(times.size() / kPart);
  const double together = median({times.begin(), times.begin() + part});
  const double apart = median({times.end() - part, times.end()});
  if (apart < together * kSlower) return {};
  const double limit = std::sqrt(together * apart);
  std::vector<Sorted> result;
  for (const LateCall& call : calls) result.push_back({static_cast<double>(call.size), call.delay, call.time > limit});
  return result;
}

struct Base {
  double value = 0;
  std::size_t wrong = 0;  ///< Calls on the wrong side.
};

/// The base that fits best with such a slope.
Base find_base(const std::vector<Sorted>& calls, double per_byte) {
  std::vector<std::pair<double, bool>> rests;
  rests.reserve(calls.size());
  for (const Sorted& call : calls) rests.emplace_back(call.delay - per_byte * call.size, call.is_apart);
  std::ranges::sort(rests);
  // Wrong when call i is the first that is noticed: those before it that are apart, and those from it that are not.
  auto wrong = static_cast<std::size_t>(std::ranges::count(rests, false, &std::pair<double, bool>::second));
  Base best{0, rests.size() + 1};
  const auto consider = [&](double cut) {
    if (cut >= 0 && wrong < best.wrong) best = {cut, wrong};
  };
  double before = 0;  // Of cuts at the same calls the middle one; the first is as good at nothing.
  for (const auto& [rest, is_apart] : rests) {
    if (rest > 0) consider(before > 0 ? (before + rest) / 2 : 0);
    wrong = is_apart ? wrong + 1 : wrong - 1;
    before = rest;
  }
  consider(std::max(0.0, before));
  return best;
}

}  // namespace

std::optional<Notice> find_notice(const std::vector<LateCall>& calls) {
  std::map<std::int64_t, std::vector<LateCall>> by_size;
  for (const LateCall& call : calls) by_size[call.size].push_back(call);
  std::erase_if(by_size, [](const auto& of_size) { return of_size.second.size() < kLeast; });
  if (by_size.empty()) return {};
  std::vector<Sorted> sorted;
  std::size_t sizes = 0;
  for (const auto& [size, of_size] : by_size) {
    const std::vector<Sorted> more = sort_calls(of_size);
    if (!more.empty()) ++sizes;
    sorted.insert(sorted.end(), more.begin(), more.end());
  }
  if (2 * sizes < by_size.size()) return Notice{.is_never = true};
  // From none to a copy at 2 GB/s; of those that are as good the middle one.
  constexpr double kSlowest = 500;
  constexpr int kSteps = 200;
  std::vector<Notice> best;
  std::size_t least = sorted.size();
  const int steps = sizes > 1 ? kSteps : 0;
  for (int step = 0; step <= steps; ++step) {
    const double per_byte = kSlowest * step / kSteps;
    const Base base = find_base(sorted, per_byte);
    if (base.wrong < least) best.clear();
    least = std::min(least, base.wrong);
    if (base.wrong == least) best.push_back({base.value, per_byte});
  }
  return best[best.size() / 2];
}

topology::CostCurve notice_curve(const Notice& notice, double latency, double fresh) {
  constexpr double kNever = 1e12;  // A second.
  constexpr std::int64_t kMebibyte = 1 << 20;
  if (notice.is_never) return {{Bytes{}, Duration{static_cast<std::int64_t>(kNever)}}};
  const double base = std::max(0.0, notice.base - latency * 1e12);
  const auto at = [&](std::int64_t size, double per_byte) {
    return topology::CostPoint{Bytes{size}, Duration{std::llround(base + per_byte * static_cast<double>(size))}};
  };
  topology::CostCurve curve{at(0, notice.per_byte), at(kMebibyte, notice.per_byte)};
  if (fresh > 0) {
    curve.push_back(at(kMappedAnew - 1, notice.per_byte));
    for (const std::int64_t size : {kMappedAnew, 2 * kMappedAnew}) curve.push_back(at(size, notice.per_byte + fresh));
  }
  return curve;
}

}  // namespace orrery::app
