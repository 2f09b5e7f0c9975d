// SPDX-License-Identifier: Apache-2.0
#include "orrery/config/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery::config {
namespace {

template <class T, class Parse>
T read_quantity(const Cursor& at, const Rule& rule, const char* expected, Parse parse) {
  const std::string& text = at.scalar(expected);
  const std::optional<T> value = parse(text);
  if (!value) at.fail(fmt::format("expected {}", expected));
  if (rule.positive && *value == T{}) at.fail(fmt::format("must be more than zero; expected {}", expected));
  return *value;
}

/// 4000000, not 4e+06.
std::string bound_text(double bound) {
  constexpr double kExact = 1e15;
  return std::abs(bound) < kExact && bound == std::floor(bound) ? fmt::format("{:.0f}", bound)
                                                                : to_text(bound);
}

template <class T>
T in_range(const Cursor& at, const Rule& rule, T value) {
  const auto number = static_cast<double>(value);
  if (number < rule.min || number > rule.max) {
    at.fail(rule.max < 9.2e18
                ? fmt::format("expected a number from {} to {}", bound_text(rule.min), bound_text(rule.max))
                : fmt::format("expected a number of at least {}", bound_text(rule.min)));
  }
  return value;
}

constexpr const char* kDuration = "a duration with unit, such as 5us (ps, ns, us, ms, s, min, h)";
constexpr const char* kBytes = "a size with unit, such as 64KiB (B, kB, MB, GB, KiB, MiB, GiB)";
constexpr const char* kBandwidth = "a bandwidth with unit, such as 400Gbps or 50GBps";
constexpr const char* kFlops = "a compute rate with unit, such as 312Tflops";

}  // namespace

std::string Codec<bool>::name(const Rule&) { return "true or false"; }
bool Codec<bool>::read(const Cursor& at, const Rule&) {
  const std::string& text = at.scalar("true or false");
  if (text == "true") return true;
  if (text == "false") return false;
  at.fail("expected true or false");
}
std::string Codec<bool>::write(const bool& value) { return value ? "true" : "false"; }

std::string Codec<std::int64_t>::name(const Rule&) { return "whole number"; }
std::int64_t Codec<std::int64_t>::read(const Cursor& at, const Rule& rule) {
  const auto value = parse_integer(at.scalar("a whole number"));
  if (!value || at.node().quoted) at.fail("expected a whole number");
  return in_range(at, rule, *value);
}
std::string Codec<std::int64_t>::write(const std::int64_t& value) { return fmt::format("{}", value); }

std::string Codec<double>::name(const Rule&) { return "number"; }
double Codec<double>::read(const Cursor& at, const Rule& rule) {
  const auto value = parse_number(at.scalar("a number"));
  if (!value || at.node().quoted) at.fail("expected a number");
  return in_range(at, rule, *value);
}
std::string Codec<double>::write(const double& value) { return to_text(value); }

std::string Codec<std::string>::name(const Rule& rule) {
  return rule.choices.empty() ? "text" : join(rule.choices, " | ");
}
std::string Codec<std::string>::read(const Cursor& at, const Rule& rule) {
  const std::string& text = at.scalar("text");
  if (rule.choices.empty() || std::ranges::find(rule.choices, text) != rule.choices.end()) return text;
  at.fail(fmt::format("expected one of: {}", join(rule.choices, ", ")), nearest_name(text, rule.choices));
}
std::string Codec<std::string>::write(const std::string& value) { return value; }

std::string Codec<Duration>::name(const Rule&) { return "duration"; }
Duration Codec<Duration>::read(const Cursor& at, const Rule& rule) {
  return read_quantity<Duration>(at, rule, kDuration, parse_duration);
}
std::string Codec<Duration>::write(const Duration& value) { return to_text(value); }

std::string Codec<Bytes>::name(const Rule&) { return "size"; }
Bytes Codec<Bytes>::read(const Cursor& at, const Rule& rule) {
  return read_quantity<Bytes>(at, rule, kBytes, parse_bytes);
}
std::string Codec<Bytes>::write(const Bytes& value) { return to_text(value); }

std::string Codec<Bandwidth>::name(const Rule&) { return "bandwidth"; }
Bandwidth Codec<Bandwidth>::read(const Cursor& at, const Rule& rule) {
  return read_quantity<Bandwidth>(at, rule, kBandwidth, parse_bandwidth);
}
std::string Codec<Bandwidth>::write(const Bandwidth& value) { return to_text(value); }

std::string Codec<Flops>::name(const Rule&) { return "compute rate"; }
Flops Codec<Flops>::read(const Cursor& at, const Rule& rule) {
  return read_quantity<Flops>(at, rule, kFlops, parse_flops);
}
std::string Codec<Flops>::write(const Flops& value) { return to_text(value.per_second) + "flops"; }

}  // namespace orrery::config
