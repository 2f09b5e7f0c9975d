// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/compute_choice.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::live {
namespace {

[[noreturn]] void fail(const std::string& text, const std::string& source, const std::string& expected,
                       const std::string& nearest = {}) {
  throw InputError{{.source = source,
                    .position = {},
                    .field = {},
                    .value = text,
                    .expected = expected,
                    .nearest = nearest}};
}

}  // namespace

ComputeChoice parse_compute(const std::string& text, const std::string& source) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  std::string value = colon == std::string::npos ? std::string{} : text.substr(colon + 1);
  ComputeChoice choice;
  if (text == "measured") return choice;
  if (kind == "measured") {
    if (value != "raw") {
      fail(text, source, "expected measured, or measured:raw for CPU time as it was, with the host's noise",
           nearest_name(value, {"raw"}));
    }
    choice.is_raw = true;
    return choice;
  }
  if (kind == "fixed") {
    constexpr std::string_view kPerOperator = "/op";
    choice.mode = MeterMode::kFixedSegment;
    if (value.ends_with(kPerOperator)) {
      choice.mode = MeterMode::kFixedOperator;
      value.resize(value.size() - kPerOperator.size());
    }
    const auto fixed = parse_duration(value);
    constexpr Duration kLongest = std::chrono::hours{1};
    if (!fixed || *fixed > kLongest) {
      fail(text, source,
           "expected a time of at most an hour, such as fixed:10us, or fixed:2us/op per operator");
    }
    choice.fixed = *fixed;
    return choice;
  }
  if (text == "fake") {
    choice.mode = MeterMode::kModel;
    choice.is_fake = true;
    return choice;
  }
  if (kind == "model") {
    choice.mode = MeterMode::kModel;
    choice.uses_tables = colon == std::string::npos;
    if (!choice.uses_tables && value != "roofline") {
      fail(
          text, source,
          "expected model (tables of the devices where they have any, else their roofline) or model:roofline",
          nearest_name(value, {"roofline"}));
    }
    return choice;
  }
  if (kind == "ledger") {
    choice.mode = MeterMode::kLedger;
    choice.ledger = value;
    // The folder of a result will do: it has the ledger in it.
    if (!std::filesystem::exists(ledger_path(value, 0)) && std::filesystem::exists(value + "/ledger")) {
      choice.ledger += "/ledger";
    }
    if (!std::filesystem::exists(ledger_path(choice.ledger, 0))) {
      fail(text, source,
           fmt::format("{}: no ledger there; `orrery run --out FOLDER` writes one", ledger_path(value, 0)));
    }
    return choice;
  }
  fail(text, source,
       "expected measured, measured:raw, fixed:TIME, fixed:TIME/op, model, model:roofline, fake or "
       "ledger:FOLDER",
       nearest_name(kind, {"measured", "fixed", "model", "fake", "ledger"}));
}

std::string ledger_path(const std::string& folder, std::size_t rank) {
  return fmt::format("{}/rank_{:05}.ledger", folder, rank);
}

}  // namespace orrery::live
