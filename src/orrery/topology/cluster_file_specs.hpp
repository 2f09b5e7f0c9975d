// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The sections of a native cluster file as typed specs; docs/cluster.md explains them by example.
#include <optional>
#include <string>

#include "orrery/config/spec.hpp"
#include "orrery/topology/catalog_device.hpp"
#include "orrery/topology/generators/draft.hpp"

namespace orrery::topology {

/// A part of the document that has its own reader.
using Section = std::optional<config::Cursor>;

}  // namespace orrery::topology

template <>
struct orrery::config::Codec<orrery::config::Cursor> {
  static std::string name(const Rule&) { return "section"; }
  static Cursor read(const Cursor& at, const Rule&) { return at; }
  static std::string write(const Cursor&) { return "..."; }
};

namespace orrery::topology {

/// The whole file.
struct FileFields {
  std::string name;
  std::string description;
  std::string nccl_platform;
  bool switches_reduce = false;
  Section devices, templates, topology, nodes, links, groups, ranks, overrides, events, jitter;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("name", &FileFields::name, "What to call the cluster; absent = the file's name.");
    field("description", &FileFields::description, "One line for people.");
    field("devices", &FileFields::devices, "Device kinds of this file, by name.");
    field("templates", &FileFields::templates, "Groups of nodes and links to be repeated, by name.");
    field("topology", &FileFields::topology, "A generator and its fields: {star: {hosts: 8, ...}}.");
    field("nodes", &FileFields::nodes, "Nodes, by name.");
    field("links", &FileFields::links, "Links between nodes, by pattern.");
    field("groups", &FileFields::groups, "Racks and the like: name to pattern of nodes.");
    field("ranks", &FileFields::ranks, "Where ranks sit: a list of patterns, or a rule.");
    field("overrides", &FileFields::overrides, "Other values for some devices and links, by pattern.");
    field("events", &FileFields::events, "What happens to links over time.");
    field("jitter", &FileFields::jitter, "Seeded extra latency of links: pattern to greatest delay.");
    field("nccl_platform", &FileFields::nccl_platform, "Key into the catalogue's NCCL data.");
    field("switches_reduce", &FileFields::switches_reduce,
          "Switches add up and multicast data, so that auto considers offload.");
  }
};

/// One entry of `nodes`: a node, or a container when it has a template or nodes of its own.
struct NodeFields {
  std::optional<std::string> kind;
  std::int64_t count = 1;
  std::optional<std::string> device;
  std::optional<std::string> template_name;
  Section nodes, links;
  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    field("kind", &NodeFields::kind, "What the node is; absent = device.",
          Rule{.choices = {"device", "switch", "nic", "cpu", "memory", "port", "other"}});
    field("count", &NodeFields::count, "How many, named name[0], name[1] and so on.",
          Rule{.min = 1, .max = static_cast<double>(kMaxNodes)});
    field("device", &NodeFields::device, "Device kind: from `devices` or the catalogue.");
    field("template", &NodeFields::template_name, "Each one is a copy of this template.");
    field("nodes", &NodeFields::nodes, "Each one is made of these nodes.");
    field("links", &NodeFields::links, "Links inside each one; patterns start below it.");
  }
};

/// One entry of `templates`.
struct TemplateFields {
  Section nodes, links;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("nodes", &TemplateFields::nodes, "As at the top of the file.", config::Rule{.required = true});
    field("links", &TemplateFields::links, "Patterns start below the copy.");
  }
};

/// The values of one entry of `links`.
struct CableSpec {
  Bandwidth bandwidth;
  Duration latency{};
  std::optional<Bandwidth> back_bandwidth;
  std::optional<Duration> back_latency;
  Bytes burst{};
  std::string duplex = "full";
  std::int64_t count = 1;
  std::optional<std::string> shape;
  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    field("bandwidth", &CableSpec::bandwidth, "Per direction; of both together when half duplex.",
          Rule{.required = true, .positive = true});
    field("latency", &CableSpec::latency, "Per direction.", Rule{.required = true});
    field("back_bandwidth", &CableSpec::back_bandwidth, "From right to left; absent = bandwidth.",
          Rule{.positive = true});
    field("back_latency", &CableSpec::back_latency, "From right to left; absent = latency.");
    field("burst", &CableSpec::burst, "Bytes that pass at once after a rest, where a token bucket limits it.");
    field("duplex", &CableSpec::duplex, "Whether the two directions share the bandwidth.",
          Rule{.choices = {"full", "half"}});
    field("count", &CableSpec::count, "Parallel cables per pair.", Rule{.min = 1, .max = 4096});
    field("shape", &CableSpec::shape, "For one pattern without a dash: how its nodes are joined.",
          Rule{.choices = {"full", "ring", "chain"}});
  }
};

/// An item of `links` when it is a list.
struct CableItem : CableSpec {
  std::string between;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("between", &CableItem::between, "Pattern, e.g. host[*].nic[i] - leaf[i].",
          config::Rule{.required = true});
    CableSpec::fields(field);
  }
};

/// `overrides` of a link pattern.
struct LinkOverride {
  std::optional<Bandwidth> bandwidth;
  std::optional<Duration> latency;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("bandwidth", &LinkOverride::bandwidth, "Absent = as described.", config::Rule{.positive = true});
    field("latency", &LinkOverride::latency, "Absent = as described.");
  }
};

/// An item of `events`.
struct EventSpec : LinkOverride {
  Duration at{};
  std::string link;
  std::optional<std::string> state;
  std::optional<Duration> lasts;
  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    field("at", &EventSpec::at, "When.", Rule{.required = true});
    field("link", &EventSpec::link, "Pattern of links.", Rule{.required = true});
    LinkOverride::fields(field);
    field("state", &EventSpec::state, "down: no bytes pass; up: they do again.",
          Rule{.choices = {"up", "down"}});
    field("for", &EventSpec::lasts, "After this the link is up and as described again; absent = for good.",
          Rule{.positive = true});
  }
};

}  // namespace orrery::topology
