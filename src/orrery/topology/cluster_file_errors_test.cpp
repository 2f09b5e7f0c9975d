// SPDX-License-Identifier: Apache-2.0
// Goal: every mistake in a cluster file is reported where it stands, with what was expected there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/topology/cluster_file.hpp"

namespace orrery::topology {
namespace {

struct Mistake {
  std::string text;
  std::string message;
};

std::string error_of(const std::string& text) {
  try {
    const config::Document document = config::Document::parse(text, "c.yaml");
    static_cast<void>(read_cluster(document, Catalog{}, builtin_generators()));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string many_keys(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "k" + std::to_string(i) + ": 1, ";
  return text;
}

void expect_all(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    EXPECT_THAT(error_of(mistake.text), testing::HasSubstr(mistake.message)) << mistake.text;
  }
}

TEST(ClusterFileErrors, Structure) {
  expect_all({
      {"[1]", "c.yaml:1:1: expected a mapping"},
      {"name: x\n", "c.yaml:1:1: a cluster needs `nodes`, or a `topology`"},
      {"node: {a: }\n", "c.yaml:1:1: node: unknown key (did you mean 'nodes'?)"},
      {"nodes: {}\n", "c.yaml:1:8: nodes: expected at least one node"},
      {"nodes: 4\n", "c.yaml:1:8: nodes: '4': expected a mapping"},
      {"nodes:\n  s: {kind: switch}\n", "c.yaml:1:1: there is no device to place a rank on"},
  });
}

TEST(ClusterFileErrors, Nodes) {
  expect_all({
      {"nodes:\n  a: {kind: swich}\n", "c.yaml:2:13: nodes.a.kind: 'swich': expected one of: device, switch"},
      {"nodes:\n  a: {kind: swich}\n", "(did you mean 'switch'?)"},
      {"nodes:\n  a: {cout: 2}\n", "c.yaml:2:7: nodes.a.cout: unknown key (did you mean 'count'?)"},
      {"nodes:\n  a: {count: 0}\n", "nodes.a.count: '0': expected a number from 1 to 4"},
      {"nodes:\n  a: {count: 5000000}\n", "nodes.a.count: '5000000': expected a number from 1 to 4"},
      {"nodes:\n  a: {count: 3000000}\n  b: {count: 3000000}\n",
       "nodes.b: this makes 6000000 nodes; at most 4000000 are accepted"},
      {"nodes:\n  a[3]: {}\n", "c.yaml:2:3: nodes: 'a[3]': expected a plain name; `count` makes several"},
      {"nodes:\n  a b: {}\n", "c.yaml:2:3: nodes: 'a b': expected '.' and the next level before ' b'"},
      {"nodes:\n  s: {kind: switch, device: h100_sxm}\n",
       "c.yaml:2:29: nodes.s.device: 'h100_sxm': only nodes of kind device have one"},
      {"nodes:\n  a: {template: t}\n", "c.yaml:2:17: nodes.a.template: 't': the file has no `templates`"},
      {"templates: {hgx: {nodes: {g: }}}\nnodes:\n  a: {template: hgs}\n",
       "no such template; expected one of: hgx (did you mean 'hgx'?)"},
      {"templates: {t: {links: {}}}\nnodes: {a: {template: t}}\n",
       "templates.t: required key 'nodes' is missing"},
      {"templates: {t: {nodes: {x: {template: t}}}}\nnodes: {a: {template: t}}\n",
       "nodes nest deeper than 8 levels; does a template contain itself?"},
      {"nodes: {a: {nodes: {g: }, kind: switch}}\n",
       "nodes.a: a node made of others has no kind or device of its own"},
      {"nodes: {a: {nodes: {g: }, template: t}}\n", "nodes.a: give either `nodes` or `template`, not both"},
      {"nodes: {a: {links: {}}}\n", "nodes.a.links: links inside a node need `nodes` or `template`"},
  });
}

TEST(ClusterFileErrors, Devices) {
  expect_all({
      {"nodes:\n  a: {device: h100_sxn}\n",
       "c.yaml:2:15: nodes.a.device: 'h100_sxn': no such device; the catalogue has: a100_sxm"},
      {"nodes:\n  a: {device: h100_sxn}\n", "(did you mean 'h100_sxm'?)"},
      {"devices: {mine: {}}\nnodes: {a: {device: min}}\n",
       "nodes.a.device: 'min': no such device in `devices` or in the catalogue (did you mean 'mine'?)"},
      {"devices: {d: {peak: 3}}\nnodes: {a: {device: d}}\n",
       "devices.d.peak: '3': expected a compute rate with unit"},
      {"devices: {d: {memory: 0GB}}\nnodes: {a: {device: d}}\n",
       "devices.d.memory: '0GB': must be more than zero"},
      {"devices: {d: {compute_scale: -1}}\nnodes: {a: {device: d}}\n",
       "devices.d.compute_scale: '-1': expected a number from"},
      {"devices: {a: {base: b}, b: {base: a}}\nnodes: {x: {device: a}}\n",
       "devices are based on each other in a circle"},
      {"devices: [a]\nnodes: {x: }\n", "devices: expected a mapping"},
  });
}

TEST(ClusterFileErrors, Links) {
  const std::string nodes = "nodes: {g: {count: 4}, s: {kind: switch}, h: {nodes: {x: , y: }}}\nlinks:\n";
  const std::string cable = ": {bandwidth: 1Gbps, latency: 1us}\n";
  expect_all({
      {nodes + "  g[*] - s: {bandwidth: 1, latency: 1us}\n",
       "c.yaml:3:25: links.g[*] - s.bandwidth: '1': expected a bandwidth with unit"},
      {nodes + "  g[*] - s: {bandwidth: 1Gbps}\n", "required key 'latency' is missing"},
      {nodes + "  g[*]-s" + cable,
       "c.yaml:3:3: links: 'g[*]-s': expected two ends, 'A - B' with blanks around the dash, or `shape`"},
      {nodes + "  g[*] - t" + cable,
       "c.yaml:3:3: links: 'g[*] - t': there is no 't'; expected one of: g, s, h"},
      {nodes + "  gg - s" + cable, "there is no 'gg'; expected one of: g, s, h (did you mean 'g'?)"},
      {nodes + "  g[4] - s" + cable, "'g[4]' does not exist; there are 4, counted from 0"},
      {nodes + "  g[2:9] - s" + cable, "'g[4]' does not exist; there are 4"},
      {nodes + "  g[2:2] - s" + cable, "expected a slice begin:end that holds at least one before ']'"},
      {nodes + "  g[9:] - s" + cable, "'g[9]' does not exist"},
      {nodes + "  g[-1] - s" + cable, "expected an index from 0 to 4000000, *, or a variable such as i"},
      {nodes + "  g[i] - g[i+1]" + cable, "'g[4]' does not exist; there are 4"},
      {nodes + "  g[i] - g[j]" + cable, "variable 'j' does not stand on the left side"},
      {nodes + "  g[i+1] - s" + cable, "arithmetic is for the right side"},
      {nodes + "  g[i] - g[i/0]" + cable, "cannot divide by zero"},
      {nodes + "  g[0 - s" + cable, "expected ']' at the end"},
      {nodes + "  g[*] - g[*]" + cable,
       "this links g[0] to itself; to join nodes among themselves give one pattern and `shape`"},
      {nodes + "  g[*] -> s" + cable, "a cable has two ways; write 'A - B'"},
      {nodes + "  g[*] - h" + cable, "this names a group of nodes; name one of its parts: x, y"},
      {nodes + "  g[*] - s: {shape: ring, bandwidth: 1Gbps, latency: 1us}\n",
       "`shape` is for one pattern without a dash"},
      {nodes + "  s: {shape: ring, bandwidth: 1Gbps, latency: 1us}\n", "one node cannot be joined to itself"},
      {nodes + "  g[0] - s: {bandwidth: 1Gbps, latency: 1us, duplex: half, back_latency: 2us}\n",
       "a half-duplex cable has one set of values"},
      {nodes + "  - {bandwidth: 1Gbps, latency: 1us}\n",
       "c.yaml:3:5: links[0]: required key 'between' is missing"},
      {nodes + "  - {between: g - s, bandwidth: 1Gbps, latency: -1us}\n",
       "links[0].latency: '-1us': expected a duration with unit"},
      {"nodes: {g: {count: 6000}}\nlinks: {'g[*]': {shape: full, bandwidth: 1Gbps, latency: 1us}}\n",
       "this makes 17997000 links; at most 16000000 are accepted"},
  });
}

TEST(ClusterFileErrors, RanksOverridesEvents) {
  const std::string base =
      "nodes: {g: {count: 2}, s: {kind: switch}}\nlinks: {'g[*] - s': {bandwidth: 1Gbps, latency: 1us}}\n";
  expect_all({
      {base + "ranks: {by: hosts}\n",
       "c.yaml:3:13: ranks.by: 'hosts': expected one of: device, host, rail, round_robin (did you mean "
       "'host'?)"},
      {base + "ranks: {count: 3}\n", "ranks.count: '3': expected at most 2: 2 devices with 1 each"},
      {base + "ranks: [s]\n", "ranks[0]: 's': no device is among these nodes, and ranks need devices"},
      {base + "ranks: []\n", "ranks: expected at least one device"},
      {base + "ranks: ['g[2]']\n", "c.yaml:3:9: ranks[0]: 'g[2]': 'g[2]' does not exist"},
      {base + "overrides: {s: {compute_scale: 2}}\n", "overrides: 's': no device is among these nodes"},
      {base + "overrides: {'g[0] - g[1]': {latency: 1us}}\n",
       "overrides: 'g[0] - g[1]': no link joins these nodes"},
      {base + "overrides: {'g[0] - s': {compute_scale: 2}}\n",
       "overrides.g[0] - s.compute_scale: unknown key; expected one of: bandwidth, latency"},
      {base + "events:\n  - {link: g - s, state: down}\n",
       "c.yaml:4:5: events[0]: required key 'at' is missing"},
      {base + "events:\n  - {at: 1ms, link: g - s}\n",
       "events[0]: expected a change: bandwidth, latency or state"},
      {base + "events:\n  - {at: 1ms, link: g - s, state: gone}\n",
       "events[0].state: 'gone': expected one of: up, down"},
      {base + "events:\n  - {at: 1ms, link: g - s, bandwidth: 0bps}\n",
       "events[0].bandwidth: '0bps': must be more than zero"},
      {base + "events:\n  - {at: 1ms, link: g, state: up}\n",
       "c.yaml:4:21: events[0].link: 'g': expected two ends"},
      {base + "events: {}\n", "events: expected a list"},
      {base + "jitter: {'g - s': 5}\n", "jitter.g - s: '5': expected a duration with unit"},
      {base + "groups: {rack: 'x'}\n", "groups.rack: 'x': there is no 'x'"},
  });
}

TEST(ClusterFileErrors, WorkIsBounded) {
  expect_all({
      {"nodes: {a: {count: 20000}}\nevents: [{at: 1ms, link: 'a[*] - a[*]', state: down}]\n",
       "events[0].link: 'a[*] - a[*]': the patterns up to here name more than 100000000 nodes"},
      {"nodes: {a: {count: 3000000}}\nranks: ['a[*,*]']\n",
       "ranks[0]: 'a[*,*]': this names more than 4000000 nodes"},
      {"nodes: {a: {count: 10}}\nlinks: {" + many_keys(5000) + "}\n",
       "links: more than 4096 keys in one mapping; write a list, or fewer and wider patterns"},
  });
}

TEST(ClusterFileErrors, Topology) {
  expect_all({
      {"topology: {sta: {}}\n", "c.yaml:1:12: topology.sta: unknown key (did you mean 'star'?)"},
      {"topology: {star: {hosts: 4, bandwidth: 1Gbps}}\n",
       "c.yaml:1:18: topology.star: required key 'latency' is missing"},
      {"topology: {star: {hosts: 4, bandwidth: 1Gbps, latency: 1us, device: h100}}\n",
       "topology.star.device: 'h100': no such device"},
      {"topology: {star: {}, ring: {}}\n", "topology: expected one generator and its fields"},
      {"topology: star\n", "topology: 'star': expected a mapping"},
      {"topology: {star: {hosts: 4, bandwidth: 1Gbps, latency: 1us}}\nnodes: {host: }\n",
       "nodes.host: the topology already has nodes of that name"},
  });
}

}  // namespace
}  // namespace orrery::topology
