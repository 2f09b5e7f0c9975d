// SPDX-License-Identifier: Apache-2.0
#include "orrery/base/text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

namespace orrery {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKibi = 1024.0;
constexpr std::array<Unit, 8> kDurations{{{"ps", 1},
                                          {"ns", 1e3},
                                          {"us", 1e6},
                                          {"µs", 1e6},
                                          {"ms", 1e9},
                                          {"s", 1e12},
                                          {"min", 60e12},
                                          {"h", 3600e12}}};
constexpr std::array<Unit, 10> kBytes{{{"B", 1},
                                       {"kB", 1e3},
                                       {"KB", 1e3},
                                       {"MB", 1e6},
                                       {"GB", 1e9},
                                       {"TB", 1e12},
                                       {"KiB", kKibi},
                                       {"MiB", kKibi* kKibi},
                                       {"GiB", kKibi* kKibi* kKibi},
                                       {"TiB", kKibi* kKibi* kKibi* kKibi}}};
constexpr std::array<Unit, 6> kBits{
    {{"b", 1}, {"kb", 1e3}, {"Kb", 1e3}, {"Mb", 1e6}, {"Gb", 1e9}, {"Tb", 1e12}}};
constexpr std::array<Unit, 6> kFlops{
    {{"flops", 1}, {"Kflops", 1e3}, {"Mflops", 1e6}, {"Gflops", 1e9}, {"Tflops", 1e12}, {"Pflops", 1e15}}};

struct Quantity {
  double number;
  std::string_view unit;
};

std::optional<Quantity> parse_quantity(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  return Quantity{number, trim(text.substr(static_cast<std::size_t>(end - text.data())))};
}

std::optional<double> factor_of(std::string_view unit, std::span<const Unit> units) {
  for (const Unit& candidate : units) {
    if (candidate.name == unit) return candidate.factor;
  }
  return std::nullopt;
}

std::optional<std::int64_t> whole(double value) {
  constexpr double kLimit = 9.2e18;
  if (!(value < kLimit)) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(value));
}

std::string scaled(std::int64_t value, std::span<const Unit> units) {
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    const double amount = static_cast<double>(value) / unit->factor;
    if (amount >= 1 || unit->factor == 1) return fmt::format("{}{}", to_text(amount), unit->name);
  }
  return fmt::format("{}", value);
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == separator) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string to_text(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end);
}

std::string to_text(Duration duration) {
  constexpr std::array<Unit, 5> kShown{{{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}}};
  return scaled(duration.count(), kShown);
}

std::string to_text(Bandwidth bandwidth) {
  constexpr std::array<Unit, 5> kShown{
      {{"bps", 1}, {"kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12}}};
  return scaled(bandwidth.bits_per_second(), kShown);
}

std::string to_text(Bytes bytes) {
  constexpr std::array<Unit, 4> kBinary{{{"KiB", kBytes[6].factor},
                                         {"MiB", kBytes[7].factor},
                                         {"GiB", kBytes[8].factor},
                                         {"TiB", kBytes[9].factor}}};
  std::string text = fmt::format("{}B", bytes.count());
  for (const Unit& unit : kBinary) {
    const auto factor = static_cast<std::int64_t>(unit.factor);
    if (bytes.count() >= factor && bytes.count() % factor == 0) {
      text = fmt::format("{}{}", bytes.count() / factor, unit.name);
    }
  }
  return text;
}

std::optional<Duration> parse_duration(std::string_view text) {
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  const auto factor = factor_of(quantity->unit, kDurations);
  const auto count = factor ? whole(quantity->number * *factor) : std::nullopt;
  return count ? std::optional{Duration{*count}} : std::nullopt;
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  const auto factor = factor_of(quantity->unit, kBytes);
  const auto count = factor ? whole(quantity->number * *factor) : std::nullopt;
  return count ? std::optional{Bytes{*count}} : std::nullopt;
}

std::optional<Bandwidth> parse_bandwidth(std::string_view text) {
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  std::string_view unit = quantity->unit;
  if (unit.ends_with("ps")) {
    unit.remove_suffix(2);
  } else if (unit.ends_with("/s")) {
    unit.remove_suffix(2);
  } else {
    return std::nullopt;
  }
  std::optional<double> bits = factor_of(unit, kBits);
  if (!bits) {
    if (const auto bytes = factor_of(unit, kBytes)) bits = *bytes * 8;
  }
  const auto count = bits ? whole(quantity->number * *bits) : std::nullopt;
  return count ? std::optional{Bandwidth::bits_per_second(*count)} : std::nullopt;
}

std::optional<Flops> parse_flops(std::string_view text) {
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  std::string unit{quantity->unit};
  if (unit.ends_with("FLOPS")) unit.replace(unit.size() - 5, 5, "flops");
  const auto factor = factor_of(unit, kFlops);
  return factor ? std::optional{Flops{quantity->number * *factor}} : std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace orrery
