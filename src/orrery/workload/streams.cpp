// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/workload/executor.hpp"

namespace orrery::workload {
namespace {

constexpr std::int64_t kMost = 1024;

}  // namespace

Streams parse_streams(const std::string& text, const std::string& source) {
  Streams streams;
  if (text.empty()) return streams;
  const auto refuse = [&](const std::string& expected, const std::string& nearest = {}) {
    throw InputError{{.source = source,
                      .position = {},
                      .field = {},
                      .value = text,
                      .expected = expected,
                      .nearest = nearest}};
  };
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string name{trim(part.substr(0, equals))};
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : trim(part.substr(equals + 1));
    std::uint32_t* count = nullptr;
    if (name == "cpu") count = &streams.cpu;
    if (name == "compute") count = &streams.compute;
    if (name == "comm") count = &streams.communication;
    if (name == "memory") count = &streams.memory;
    if (count == nullptr) {
      refuse("expected cpu=N, compute=N, comm=N, memory=N, joined by commas",
             nearest_name(name, {"cpu", "compute", "comm", "memory"}));
    }
    const std::optional<std::int64_t> number = value == "all" ? 0 : parse_integer(value);
    if (!number || *number < (value == "all" ? 0 : 1) || *number > kMost) {
      refuse(fmt::format("{}: expected a number from 1 to {}, or all for no limit", name, kMost));
    }
    *count = static_cast<std::uint32_t>(*number);
  }
  return streams;
}

std::string to_text(const Streams& streams) {
  const auto count = [](std::uint32_t number) { return number == 0 ? "all" : fmt::format("{}", number); };
  return fmt::format("cpu={},compute={},comm={},memory={}", count(streams.cpu), count(streams.compute),
                     count(streams.communication), count(streams.memory));
}

}  // namespace orrery::workload
