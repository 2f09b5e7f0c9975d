// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "orrery/astra/fields.hpp"
#include "orrery/astra/settings.hpp"

namespace orrery::astra {
namespace {

using config::Cursor;

constexpr double kNpusMax = 1 << 20;

Shape read_shape(const Cursor& at) {
  const std::string& text = read_text(at);
  if (text == "Ring") return Shape::kRing;
  if (text == "FullyConnected") return Shape::kFullyConnected;
  if (text == "Switch") return Shape::kSwitch;
  at.fail("expected one of: Ring, FullyConnected, Switch",
          nearest_name(text, {"Ring", "FullyConnected", "Switch"}));
}

Cursor list_of(const Cursor& root, const char* key, std::size_t length) {
  const Cursor list = root.at(key);
  if (list.size() != length) {
    list.fail(fmt::format("expected {} values, one per entry of topology, got {}", length, list.size()));
  }
  return list;
}

}  // namespace

std::uint32_t NetworkSettings::npus() const {
  std::uint32_t count = 1;
  for (const Dimension& dim : dims) count *= dim.size;
  return count;
}

NetworkSettings read_network(const std::string& path, Warnings& warnings) {
  const config::Document document = config::Document::load(path);
  const Cursor root{document};
  check_keys(root, {"topology", "npus_count", "bandwidth", "latency"}, {}, warnings);
  const Cursor topology = root.at("topology");
  const std::size_t dims = topology.size();
  if (dims == 0) topology.fail("expected at least one dimension");
  const Cursor sizes = list_of(root, "npus_count", dims);
  const Cursor bandwidths = list_of(root, "bandwidth", dims);
  const Cursor latencies = list_of(root, "latency", dims);
  NetworkSettings settings{.source = path, .dims = {}};
  double npus = 1;
  for (std::size_t i = 0; i < dims; ++i) {
    Dimension dim;
    dim.shape = read_shape(topology.item(i));
    const double size = read_number(sizes.item(i), 2, kNpusMax);
    dim.size = static_cast<std::uint32_t>(size);
    if (static_cast<double>(dim.size) != size) sizes.item(i).fail("expected a whole number");
    npus *= size;
    if (npus > kNpusMax) {
      sizes.item(i).fail(fmt::format("{} NPUs in all; at most {} are simulated", npus, kNpusMax));
    }
    dim.gigabytes = read_number(bandwidths.item(i), 0, 1e9);
    if (dim.gigabytes <= 0) bandwidths.item(i).fail("expected more than 0 GB/s");
    dim.bandwidth = dim.gigabytes * (1 << 30) / 1'000'000'000;
    dim.latency = read_number(latencies.item(i), 0, 1e12);
    settings.dims.push_back(dim);
  }
  return settings;
}

MemorySettings read_memory(const std::string& path, Warnings& warnings) {
  const config::Document document = config::Document::load(path);
  const Cursor root{document};
  check_keys(root, {"memory-type", "remote-mem-latency", "remote-mem-bw", "num-nodes", "num-npus-per-node"},
             {}, warnings);
  MemorySettings settings;
  settings.source = path;
  const Cursor kind = root.at("memory-type");
  const std::string& text = read_text(kind);
  if (text == "NO_MEMORY_EXPANSION") return settings;
  if (text == "PER_NODE_MEMORY_EXPANSION") {
    settings.kind = MemoryKind::kPerNode;
    settings.nodes = static_cast<std::uint32_t>(read_whole(root.at("num-nodes"), 1, kNpusMax));
    settings.npus_per_node =
        static_cast<std::uint32_t>(read_whole(root.at("num-npus-per-node"), 1, kNpusMax));
  } else if (text == "PER_NPU_MEMORY_EXPANSION") {
    settings.kind = MemoryKind::kPerNpu;
  } else if (text == "MEMORY_POOL") {
    settings.kind = MemoryKind::kPool;
  } else {
    const std::vector<std::string> names{"NO_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION",
                                         "PER_NPU_MEMORY_EXPANSION", "MEMORY_POOL"};
    kind.fail(
        "expected one of: NO_MEMORY_EXPANSION, PER_NODE_MEMORY_EXPANSION, PER_NPU_MEMORY_EXPANSION, "
        "MEMORY_POOL",
        nearest_name(text, names));
  }
  if (root.has("remote-mem-latency")) settings.latency = read_whole(root.at("remote-mem-latency"), 0, 1e15);
  settings.bandwidth = read_whole(root.at("remote-mem-bw"), 1, 1e12);
  return settings;
}

}  // namespace orrery::astra
