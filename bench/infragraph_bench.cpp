// SPDX-License-Identifier: Apache-2.0
// Reads and expands one InfraGraph file and prints {"nodes", "edges", "seconds"}: CPU time of both steps.
#include <fmt/format.h>

#include <ctime>
#include <exception>

#include "orrery/topology/infragraph/infragraph.hpp"

namespace {

int run(const char* path) {
  const std::clock_t begin = std::clock();
  const auto document = orrery::config::Document::load(path);
  const std::clock_t parsed = std::clock();
  const auto cluster = orrery::topology::read_infragraph(document, {.lenient = true});
  const std::clock_t end = std::clock();
  const auto seconds = [](std::clock_t ticks) { return static_cast<double>(ticks) / CLOCKS_PER_SEC; };
  fmt::print("{{\"nodes\": {}, \"edges\": {}, \"seconds\": {:.6f}, \"of_which_yaml\": {:.6f}}}\n",
             cluster.graph.node_count(), cluster.graph.edge_count(), seconds(end - begin),
             seconds(parsed - begin));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count == 2) return run(arguments[1]);
    fmt::print(stderr, "usage: {} FILE\n", arguments[0]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return 2;
}
