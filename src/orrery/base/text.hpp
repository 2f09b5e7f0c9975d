// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Numbers to text and back, the same on every machine (no locale).
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.hpp"

namespace orrery {

/// "1.5us", "20ns", "3ms": shortest exact decimal in the largest unit that keeps the value >= 1.
[[nodiscard]] std::string to_text(Duration duration);
/// "400Gbps": largest unit that keeps the value whole or short.
[[nodiscard]] std::string to_text(Bandwidth bandwidth);
/// "64KiB", "1GiB", or plain "1000B" when no binary unit divides it.
[[nodiscard]] std::string to_text(Bytes bytes);
/// Shortest text that reads back as the same double.
[[nodiscard]] std::string to_text(double value);

/// Parsers of dimensioned text. The unit is required; nullopt when the text is not of that form, is
/// negative, not finite, or does not fit. Durations: ps ns us ms s min h. Bytes: B kB KB MB GB TB (1000) and
/// KiB MiB GiB TiB (1024). Bandwidth: bps kbps Kbps Mbps Gbps Tbps (bits), Bps kBps KBps MBps GBps TBps,
/// KiBps MiBps GiBps TiBps, and the forms with "/s" (Gb/s, GB/s, GiB/s). Flops: flops .. Pflops and FLOPS.
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);
[[nodiscard]] std::optional<Bytes> parse_bytes(std::string_view text);
[[nodiscard]] std::optional<Bandwidth> parse_bandwidth(std::string_view text);
[[nodiscard]] std::optional<Flops> parse_flops(std::string_view text);
/// Whole text as a number; no unit, no blanks, finite.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace orrery
