// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The steps of reading a cluster file, each a function on what was built so far.
#include <string>

#include "orrery/topology/cluster_file_devices.hpp"
#include "orrery/topology/cluster_file_names.hpp"
#include "orrery/topology/cluster_file_specs.hpp"

namespace orrery::topology {

/// What all steps work on.
struct FileBuild {
  const FileFields& file;
  DeviceTable& devices;
  Draft draft;
  NameTree names;
};

/// Mappings whose keys are patterns are for people; tools write lists. (A key is found by linear search.)
inline constexpr std::size_t kMaxPatternKeys = 4096;
void expect_pattern_keys(const config::Cursor& at);

/// Where nodes are added: a container, or the top of the file.
struct Container {
  NameTree::Place place = NameTree::kRoot;
  std::string path;   ///< Of names: "rack[0].host[3]"; "" at the top.
  std::string group;  ///< Of groups: "rack[0]/host[3]".
  int depth = 0;
};

/// Adds the nodes of a `nodes` section.
void add_nodes(FileBuild& build, const config::Cursor& nodes, const Container& into);

/// Adds the cables of a `links` section whose patterns start at `root`.
void add_links(FileBuild& build, const config::Cursor& links, NameTree::Place root);

/// Puts the nodes that `groups` names into racks: "rack[0]" before the group they already have.
void apply_groups(FileBuild& build, const config::Cursor& groups);

/// The endpoint of each node, kNoEndpoint where a node holds no ranks.
inline constexpr std::uint32_t kNoEndpoint = UINT32_MAX;
[[nodiscard]] std::vector<std::uint32_t> endpoints_by_node(const Draft& draft);

/// Gives some devices and links other values.
void apply_overrides(FileBuild& build, const config::Cursor& overrides);

/// The endpoint of each rank, by the file's `ranks` or the default.
[[nodiscard]] std::vector<std::uint32_t> place_ranks(const FileBuild& build, const config::Cursor& root);

/// `events` and `jitter`, sorted.
[[nodiscard]] std::vector<LinkEvent> read_events(const FileBuild& build, const config::Cursor& events);
[[nodiscard]] std::vector<LinkJitter> read_jitter(const FileBuild& build, const config::Cursor& jitter);

}  // namespace orrery::topology
