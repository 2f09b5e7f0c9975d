// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include <string>

#include "orrery/version.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Orrery: a deterministic simulator for distributed AI.", "orrery"};
  app.set_version_flag("--version", "orrery " + std::string{orrery::kVersion});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return 0;
}
