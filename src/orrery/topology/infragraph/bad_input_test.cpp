// SPDX-License-Identifier: Apache-2.0
// Goal: every mistake in an InfraGraph file is answered with its place and what was expected. One row each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/topology/infragraph/infragraph.hpp"

namespace orrery::topology {
namespace {

struct BadInput {
  const char* name;
  std::string from;  ///< What to replace in the good file ...
  std::string to;    ///< ... by what.
  std::string error;
  bool also_lenient = false;  ///< Upstream cannot read it either.
};

constexpr std::string_view kGood = R"(name: good
devices:
- name: server
  components:
  - {name: xpu, count: 8, choice: xpu}
  - {name: sw, count: 2, choice: switch}
  - {name: card, count: 2, choice: device}
  links: [{name: wire}]
  edges:
  - {ep1: {component: xpu}, ep2: {component: sw}, scheme: many2many, link: wire}
  - {ep1: {component: "card.chip"}, ep2: {component: sw}, scheme: one2one, link: wire}
- name: card
  components: [{name: chip, count: 1, choice: nic}]
  links: []
  edges: []
links: [{name: cable, physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 400}}}]
instances: [{name: host, device: server, count: 2}]
edges:
- {ep1: {instance: "host[0]", component: "card[0].chip"}, ep2: {instance: "host[1]", component: "card[0].chip"},
   scheme: one2one, link: cable}
)";

std::string error_of(const BadInput& row, bool lenient) {
  std::string text{kGood};
  const std::size_t at = text.find(row.from);
  if (at == std::string::npos) return "the row's text is not in the file";
  text.replace(at, row.from.size(), row.to);
  InfraGraphOptions options;
  options.lenient = lenient;
  try {
    static_cast<void>(read_infragraph(config::Document::parse(text, "bad.yaml"), options));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

const std::vector<BadInput> kRows{
    {"UnknownComponent", "component: xpu}", "component: xpus}",
     "bad.yaml:10:11: devices[0].edges[0].ep1.component: 'xpus': device 'server' has no component 'xpus' "
     "(did you mean 'xpu'?)"},
    {"IndexTooHigh", "component: xpu}", "component: \"xpu[8]\"}",
     "'xpu[8]': reaches beyond the 8 'xpu' there are"},
    {"IndexTooLow", "component: xpu}", "component: \"xpu[-9]\"}",
     "'xpu[-9]': reaches beyond the 8 'xpu' there are"},
    {"SliceTooLong", "component: xpu}", "component: \"xpu[4:12]\"}",
     "'xpu[4:12]': reaches beyond the 8 'xpu' there are"},
    {"SliceOfNothing", "component: xpu}", "component: \"xpu[4:2]\"}",
     "'xpu[4:2]': selects none of the 8 'xpu' there are"},
    {"SliceWithFourParts", "component: xpu}", "component: \"xpu[0:1:2:3]\"}",
     "a slice has at most three parts", true},
    {"SliceOfWords", "component: xpu}", "component: \"xpu[a:b]\"}", "'a' is not an index", true},
    {"StepOfZero", "component: xpu}", "component: \"xpu[0:4:0]\"}", "the step must not be 0", true},
    {"OpenBracket", "component: xpu}", "component: \"xpu[0\"}",
     "expected a name, or a name and a slice such as 'xpu[0:8]'"},
    {"DeviceAsNode", "component: \"card.chip\"", "component: card",
     "'card': 'card' is a device, not a node; go on to one of its components: chip"},
    {"BeyondALeaf", "component: xpu}", "component: xpu.core}",
     "'xpu.core': 'xpu' is no device and has no component 'core'", true},
    {"UnevenOneToOne", "component: xpu}, ep2: {component: sw}, scheme: many2many",
     "component: \"xpu[0:4]\"}, ep2: {component: sw}, scheme: one2one",
     "devices[0].edges[0]: one2one pairs 4 nodes with 2"},
    {"SelfOnly", "component: xpu}, ep2: {component: sw}, scheme: many2many",
     "component: xpu}, ep2: {component: xpu}, scheme: one2one",
     "devices[0].edges[0]: joins each node to itself only"},
    {"MissingScheme", "scheme: many2many, ", "", "devices[0].edges[0]: required key 'scheme' is missing",
     true},
    {"RingScheme", "scheme: many2many", "scheme: ring",
     "devices[0].edges[0].scheme: 'ring': expected one of: one2one, many2many", true},
    {"UnknownLink", "scheme: many2many, link: wire", "scheme: many2many, link: wired",
     "devices[0].edges[0].link: 'wired': this link is not declared beside these edges (did you mean "
     "'wire'?)"},
    {"UnknownInstance", "instance: \"host[0]\"", "instance: \"hots[0]\"",
     "edges[0].ep1.instance: 'hots[0]': there is no instance 'hots' (did you mean 'host'?)", true},
    {"InstanceTooHigh", "instance: \"host[1]\"", "instance: \"host[2]\"",
     "edges[0].ep2.instance: 'host[2]': reaches beyond the 2 'host' there are"},
    {"UnknownDevice", "device: server", "device: serve",
     "instance 'host' is of a device that is not described (did you mean 'server'?)", true},
    {"UnknownNestedDevice", "name: card, count: 2", "name: cart, count: 2",
     "'cart': a component with choice 'device' needs a device of its name, and there is none (did you mean "
     "'card'?)",
     true},
    {"DevicesInACircle", "{name: chip, count: 1, choice: nic}", "{name: server, count: 1, choice: device}",
     "devices contain each other: server > card > server", true},
    {"NegativeCount", "name: xpu, count: 8", "name: xpu, count: -1",
     "devices[0].components[0].count: '-1': expected a whole number from 0 to 4000000", true},
    {"HugeCount", "name: xpu, count: 8", "name: xpu, count: 9999999999",
     "expected a whole number from 0 to 4000000", true},
    {"HugeProduct", "device: server, count: 2", "device: server, count: 4000000",
     "more than the 4000000 nodes that are accepted", true},
    {"CountMissing", "name: xpu, count: 8", "name: xpu",
     "devices[0].components[0]: required key 'count' is missing", true},
    {"UnknownChoice", "choice: xpu", "choice: gpu",
     "'gpu': expected one of: custom, device, cpu, xpu, nic, memory, port, switch (did you mean 'cpu'?)",
     true},
    {"UnknownKey", "name: good", "nmae: good", "bad.yaml:1:1: nmae: unknown key (did you mean 'name'?)"},
    {"NameTwice", "name: sw, count: 2", "name: xpu, count: 2",
     "devices[0].components: 'xpu': this name is used twice", true},
    {"DotInName", "name: sw, count", "name: s.w, count", "'s.w': a name must not contain '.'", true},
    {"NoInstances", "[{name: host, device: server, count: 2}]", "[]", "instances: the file describes no node",
     true},
    {"ZeroBandwidth", "gigabits_per_second: 400", "gigabits_per_second: 0",
     "links[0].physical.bandwidth: must be more than zero", true},
    {"NegativeBandwidth", "gigabits_per_second: 400", "gigabits_per_second: -4",
     "'-4': expected a number that is not negative and not huge", true},
    {"OldConnections", "name: good", "connections: [a.0.link.b.0]",
     "bad.yaml:1:1: connections: this is the InfraGraph format of before 2.0, which is not read", true},
    {"OldComponentType", "count: 8, choice: xpu", "count: 8, type: npu",
     "components[0].type: this is the InfraGraph format of before 2.0", true},
    {"ListExpected", "[{name: wire}]", "{name: wire}", "devices[0].links: expected a list", true},
    {"MappingExpected", "- {name: sw, count: 2, choice: switch}", "- sw",
     "devices[0].components[1]: 'sw': expected a mapping of keys to values", true},
};

class InfraGraphBadInput : public testing::TestWithParam<std::size_t> {};

TEST_P(InfraGraphBadInput, IsRefusedWithItsPlace) {
  const BadInput& row = kRows[GetParam()];
  EXPECT_THAT(error_of(row, false), testing::HasSubstr(row.error));
  EXPECT_THAT(error_of(row, false), testing::HasSubstr("bad.yaml:"));
  EXPECT_THAT(error_of(row, true), testing::HasSubstr(row.also_lenient ? "bad.yaml:" : "no error"));
}

INSTANTIATE_TEST_SUITE_P(Rows, InfraGraphBadInput, testing::Range(std::size_t{0}, kRows.size()),
                         [](const auto& row) { return kRows[row.param].name; });

struct BadAnnotation {
  std::string text;
  std::string error;
};

TEST(InfraGraphBadAnnotation, IsRefusedWithItsPlace) {
  const std::vector<BadAnnotation> cases{
      {"{nodes: [{name: host.9, attributes: [{attribute: rank, value: 0}]}]}",
       "annotations.nodes[0].name: 'host.9': there is no node 'host.9'"},
      {"{nodes: [{name: \"host[0]gpu[1]\", attributes: [{attribute: rank, value: 0}]}]}",
       "there is no 'gpu' here"},
      {"{nodes: [{name: host.0, attributes: [{attribute: rank, value: 0}]}]}",
       "a rank belongs to one xpu; this names 8"},
      {"{nodes: [{name: host.0.xpu.0, attributes: [{attribute: rank, value: one}]}]}",
       "value: 'one': expected a rank: 0, 1, 2, ..."},
      {"{nodes: [{name: host.0.xpu.0, attributes: [{attribute: rank, value: 3}]}]}",
       "rank 0 is missing: 1 ranks are given, the highest is 3"},
      {"{nodes: [{name: host.0.xpu.0, attributes: [{attribute: rank, value: \"0,0\"}]}]}",
       "rank 0 is given twice"},
      {"{links: [{name: cabel, attributes: []}]}", "'cabel': no link has this name (did you mean 'cable'?)"},
      {"{links: [{name: cable, attributes: [{attribute: bandwidth, value: fast}]}]}",
       "'fast': expected a bandwidth with unit, such as '400 Gbps'"},
      {"{links: [{name: cable, attributes: [{attribute: latency, value: \"3\"}]}]}",
       "'3': expected a duration with unit"},
      {"{edges: [{ep1: host.0.xpu.0, ep2: host.1.xpu.0, attributes: []}]}",
       "no edge joins it to 'host.0.xpu.0'"},
  };
  for (const BadAnnotation& row : cases) {
    std::string text = "infrastructure:\n  ";
    for (const char c : kGood) text += c == '\n' ? std::string{"\n  "} : std::string{c};
    text += "\nannotations: " + row.text;
    try {
      static_cast<void>(read_infragraph(config::Document::parse(text, "bad.yaml")));
      ADD_FAILURE() << row.error << ": no error";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(row.error));
    }
  }
}

}  // namespace
}  // namespace orrery::topology
