// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>

#include "orrery/astra/fields.hpp"
#include "orrery/astra/settings.hpp"
#include "orrery/base/text.hpp"

namespace orrery::astra {
namespace {

using config::Cursor;

constexpr double kWholeMax = 2147483647;  // ASTRA-sim keeps most numbers as int.
constexpr double kNanosecondsMax = 1e15;

std::string key_of(Collective collective, const char* suffix) {
  return fmt::format("{}-implementation{}", to_text(collective), suffix);
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys{"scheduling-policy",
                                "collective-optimization",
                                "local-reduction-delay",
                                "active-chunks-per-dimension",
                                "L",
                                "o",
                                "g",
                                "G",
                                "endpoint-delay",
                                "model-shared-bus",
                                "preferred-dataset-splits",
                                "peak-perf",
                                "local-mem-bw",
                                "roofline-enabled",
                                "trace-enabled",
                                "replay-only",
                                "track-local-mem",
                                "local-mem-trace-filename",
                                "per-node-custom-implementation"};
  for (std::size_t i = 0; i < kCollectives; ++i) {
    keys.push_back(key_of(static_cast<Collective>(i), ""));
    keys.push_back(key_of(static_cast<Collective>(i), "-custom"));
  }
  return keys;
}

const std::vector<std::string> kIgnoredKeys{"boost-mode", "intra-dimension-scheduling",
                                            "inter-dimension-scheduling"};
const std::vector<std::string> kAlgorithmNames{
    "ring", "direct", "halvingDoubling", "doubleBinaryTree", "oneRing", "oneDirect", "oneHalvingDoubling"};

/// "direct8" and "oneDirect8": the number behind, or -1 for all; nullopt when it is no number.
std::optional<std::int32_t> window_of(std::string_view digits) {
  if (digits.empty()) return -1;
  const auto value = parse_integer(digits);
  if (!value || *value < 1 || *value > 99'999) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

Choice read_choice(const Cursor& at) {
  const std::string& text = read_text(at);
  const auto make = [&](Algorithm algorithm, bool flattened, std::int32_t window = -1) {
    return Choice{.algorithm = algorithm, .flattened = flattened, .window = window, .text = text};
  };
  if (text == "ring") return make(Algorithm::kRing, false);
  if (text == "oneRing") return make(Algorithm::kRing, true);
  if (text == "halvingDoubling") return make(Algorithm::kHalvingDoubling, false);
  if (text == "oneHalvingDoubling") return make(Algorithm::kHalvingDoubling, true);
  if (text == "doubleBinaryTree") return make(Algorithm::kDoubleBinaryTree, false);
  for (const std::string_view prefix : {"direct", "oneDirect"}) {
    if (!text.starts_with(prefix)) continue;
    if (const auto window = window_of(std::string_view{text}.substr(prefix.size()))) {
      return make(Algorithm::kDirect, prefix == "oneDirect", *window);
    }
  }
  at.fail(
      "expected one of: ring, direct[K], halvingDoubling, doubleBinaryTree, oneRing, oneDirect[K], "
      "oneHalvingDoubling",
      nearest_name(text, kAlgorithmNames));
}

void read_custom(const Cursor& at, std::string& prefix) {
  if (at.size() != 1) at.fail("expected a list of one prefix of ET files, for all dimensions together");
  prefix = read_text(at.item(0));
}

/// {node id: prefix of ET files}.
std::map<std::uint64_t, std::string> read_node_custom(const Cursor& at) {
  const config::Document document = config::Document::load(read_text(at));
  const Cursor root{document};
  root.expect_mapping();
  std::map<std::uint64_t, std::string> custom;
  for (const config::Entry& entry : root.node().entries) {
    const auto id = parse_integer(entry.key);
    if (!id || *id < 0) {
      throw InputError{{.source = document.source(),
                        .position = entry.position,
                        .field = {},
                        .value = entry.key,
                        .expected = "expected the id of a node of the workload",
                        .nearest = {}}};
    }
    custom[static_cast<std::uint64_t>(*id)] = read_text(root.at(entry.key));
  }
  return custom;
}

void read_scheduling(const Cursor& root, SystemSettings& to) {
  if (root.has("scheduling-policy")) {
    const Cursor at = root.at("scheduling-policy");
    const std::string& text = read_text(at);
    const std::vector<std::string> names{"LIFO", "FIFO", "EXPLICIT"};
    to.has_policy = true;
    if (text == "LIFO") {
      to.policy = Policy::kLifo;
    } else if (text == "FIFO") {
      to.policy = Policy::kFifo;
    } else if (text == "EXPLICIT") {
      to.policy = Policy::kExplicit;
    } else {
      at.fail("expected one of: LIFO, FIFO, EXPLICIT", nearest_name(text, names));
    }
  }
  if (root.has("collective-optimization")) {
    const Cursor at = root.at("collective-optimization");
    const std::string& text = read_text(at);
    to.has_optimization = true;
    to.is_local_bw_aware = text == "localBWAware";
    if (!to.is_local_bw_aware && text != "baseline") {
      at.fail("expected baseline or localBWAware", nearest_name(text, {"baseline", "localBWAware"}));
    }
  }
  if (root.has("preferred-dataset-splits")) {
    to.splits = read_whole(root.at("preferred-dataset-splits"), 1, kWholeMax);
  }
  if (root.has("active-chunks-per-dimension")) {
    to.active_chunks = read_whole(root.at("active-chunks-per-dimension"), 1, kWholeMax);
  }
}

/// ASTRA-sim keeps these as floats on the way.
std::uint64_t read_float_whole(const Cursor& at) {
  return static_cast<std::uint64_t>(static_cast<float>(read_number(at, 0, kNanosecondsMax)));
}

void read_endpoint(const Cursor& root, double injection_scale, SystemSettings& to) {
  if (root.has("endpoint-delay")) {
    const std::uint64_t stated = read_whole(root.at("endpoint-delay"), 0, kWholeMax);
    const double scaled = static_cast<double>(stated) * injection_scale;
    if (!(scaled >= 0 && scaled <= kWholeMax)) {
      root.at("endpoint-delay")
          .fail(fmt::format("times the injection scale it is {} ns: out of range", scaled));
    }
    to.endpoint_delay = static_cast<std::uint64_t>(scaled);
  }
  if (root.has("L")) to.bus.latency = read_float_whole(root.at("L"));
  if (root.has("o")) to.bus.overhead = read_float_whole(root.at("o"));
  if (root.has("g")) to.bus.gap = read_float_whole(root.at("g"));
  if (root.has("G")) {
    to.bus.gap_per_byte = static_cast<double>(static_cast<float>(read_number(root.at("G"), 0, 1e9)));
  }
  if (root.has("model-shared-bus")) {
    to.bus.modelled = read_whole(root.at("model-shared-bus"), 0, kWholeMax) == 1;
  }
  if (root.has("local-reduction-delay")) {
    to.bus.reduction_delay =
        static_cast<std::int64_t>(read_whole(root.at("local-reduction-delay"), 0, kWholeMax));
  }
}

void read_compute(const Cursor& root, SystemSettings& to, Warnings& warnings) {
  constexpr double kTera = 1e12;
  constexpr double kGiga = 1e9;
  if (root.has("peak-perf")) to.peak = read_number(root.at("peak-perf"), 0, 1e9) * kTera;
  if (root.has("local-mem-bw")) to.memory_bandwidth = read_number(root.at("local-mem-bw"), 0, 1e12) * kGiga;
  if (root.has("roofline-enabled")) to.roofline = read_switch(root.at("roofline-enabled"), warnings);
  if (root.has("replay-only")) to.replay_only = read_switch(root.at("replay-only"), warnings);
  for (const char* key : {"trace-enabled", "track-local-mem"}) {
    if (root.has(key) && read_switch(root.at(key), warnings)) {
      warnings.push_back(
          fmt::format("{}: {}: ASTRA-sim's own log and memory files are not written; "
                      "--timeline shows more",
                      to.source, key));
    }
  }
  if (to.roofline && (to.peak <= 0 || to.memory_bandwidth <= 0)) {
    root.fail("roofline-enabled needs peak-perf and local-mem-bw, both more than 0");
  }
}

}  // namespace

const char* to_text(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "all-reduce";
    case Collective::kAllGather:
      return "all-gather";
    case Collective::kReduceScatter:
      return "reduce-scatter";
    case Collective::kAllToAll:
      return "all-to-all";
  }
  return "";
}

SystemSettings read_system(const std::string& path, double injection_scale, Warnings& warnings) {
  const config::Document document = config::Document::load(path);
  const Cursor root{document};
  check_keys(root, known_keys(), kIgnoredKeys, warnings);
  SystemSettings settings;
  settings.source = path;
  read_scheduling(root, settings);
  read_endpoint(root, injection_scale, settings);
  read_compute(root, settings, warnings);
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const std::string native = key_of(static_cast<Collective>(i), "");
    if (root.has(native)) {
      const Cursor list = root.at(native);
      for (std::size_t dim = 0; dim < list.size(); ++dim) {
        settings.choices[i].push_back(read_choice(list.item(dim)));
      }
    }
    const std::string custom = key_of(static_cast<Collective>(i), "-custom");
    if (root.has(custom)) read_custom(root.at(custom), settings.custom[i]);
  }
  if (root.has("per-node-custom-implementation")) {
    settings.node_custom = read_node_custom(root.at("per-node-custom-implementation"));
  }
  return settings;
}

}  // namespace orrery::astra
