// SPDX-License-Identifier: Apache-2.0
// Goal: no text breaks the reader of native cluster files, and what it accepts can be routed and written.
#include <cstdint>
#include <string_view>

#include "orrery/topology/cluster_file.hpp"
#include "orrery/topology/infragraph/infragraph.hpp"
#include "orrery/topology/router.hpp"

namespace {

using namespace orrery;

/// Digits in a row: a count of thousands is legal but tells a fuzzer nothing that tens do not, slowly.
bool has_large_number(std::string_view text) {
  constexpr int kDigits = 2;
  int digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > kDigits) return true;
  }
  return false;
}

void use(const topology::Cluster& cluster) {
  if (cluster.ranks.empty()) return;
  topology::Router router{cluster.graph};
  try {
    static_cast<void>(router.get(router.route(cluster.ranks.front(), cluster.ranks.back())));
    static_cast<void>(topology::write_infragraph(cluster));
  } catch (const InputError&) {  // Unreachable, or parallel links that differ.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (has_large_number(text)) return -1;
  static const topology::GeneratorRegistry kGenerators = topology::builtin_generators();
  static const topology::Catalog kNoCatalog{"/nonexistent"};
  try {
    const auto document =
        config::Document::parse(text, "fuzz", {.bytes = 1 << 20, .nodes = 20'000, .depth = 32});
    use(topology::read_cluster(document, kNoCatalog, kGenerators));
  } catch (const InputError&) {
  }
  return 0;
}
