// SPDX-License-Identifier: Apache-2.0
// Runs many cases at once for the comparison with the reference model. A line of standard input is WORKLOAD SYSTEM
// NETWORK and options (aware, rendezvous, nofold, queues=N, injection=X, memory=FILE, groups=FILE); a line of output is
// the number of ranks simulated and the cycles of each rank, or an error.
#include <fmt/format.h>

#include <iostream>
#include <sstream>
#include <string>

#include "orrery/app/astra_replay.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace {

orrery::app::AstraReplayOptions parse(const std::string& line) {
  std::istringstream words{line};
  orrery::app::AstraReplayOptions options;
  words >> options.workload >> options.system >> options.network;
  for (std::string word; words >> word;) {
    const std::string value = word.substr(word.find('=') + 1);
    if (word == "aware") options.is_aware = true;
    if (word == "rendezvous") options.is_rendezvous = true;
    if (word == "nofold") options.may_fold = false;
    if (word.starts_with("queues=")) {
      options.queues_per_dim = static_cast<std::uint32_t>(orrery::parse_integer(value).value());
    }
    if (word.starts_with("injection=")) options.injection_scale = orrery::parse_number(value).value();
    if (word.starts_with("memory=")) options.memory = value;
    if (word.starts_with("groups=")) options.comm_group = value;
  }
  return options;
}

std::string answer(const std::string& line) {
  try {
    const auto result = orrery::app::replay_astra(parse(line));
    std::string text = fmt::format("{}:", result.outcome.simulated);
    for (const auto& rank : result.outcome.ranks) text += fmt::format(" {}", rank.cycles);
    return text;
  } catch (const orrery::InputError& error) {
    return fmt::format("input error: {}", error.what());
  } catch (const orrery::SimulationError& error) {
    return fmt::format("simulation error: {}", error.what());
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::string text = answer(line);
    for (char& c : text) c = c == '\n' ? ' ' : c;
    std::cout << text << '\n' << std::flush;
  }
}
