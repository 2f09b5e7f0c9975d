// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the law tests share: every registered network, and random numbers that a failure lets you repeat.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "orrery/base/rng.hpp"
#include "orrery/base/text.hpp"
#include "orrery/network/network_model.hpp"

namespace orrery::laws {

inline std::vector<std::string> networks() { return network::builtin_networks().names(); }

/// Settings under which the laws must hold as well.
inline std::vector<std::string> networks_and_variants() {
  std::vector<std::string> all = networks();
  all.emplace_back("flow:resolve_delay=1us");
  all.emplace_back("flow:overhead=2us");
  for (const char* settings :
       {"trains=false", "forwarding=cut_through", "loss=pfc,pause_at=64KiB,resume_at=32KiB",
        "loss=credit,buffer=64KiB", "control=window", "control=dcqcn", "control=credit"}) {
    all.emplace_back(std::string{"packet:"} + settings);
  }
  return all;
}

/// ORRERY_TEST_SEED repeats a run; the trace below names the seed of a failure.
inline std::uint64_t test_seed() {
  const char* text = std::getenv("ORRERY_TEST_SEED");
  const auto seed = text == nullptr ? std::nullopt : parse_integer(text);
  return static_cast<std::uint64_t>(seed.value_or(1));
}

inline std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) name += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
  return name;
}

}  // namespace orrery::laws

/// At the top of a test that draws: names the seed when it fails.
#define ORRERY_SEEDED(rng, purpose)                                                            \
  SCOPED_TRACE("repeat with ORRERY_TEST_SEED=" + std::to_string(::orrery::laws::test_seed())); \
  ::orrery::Rng rng { ::orrery::laws::test_seed(), "laws", purpose }
