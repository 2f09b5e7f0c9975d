// SPDX-License-Identifier: Apache-2.0
// Fat tree of switches with k ports each (Al-Fares et al., SIGCOMM 2008, generalised to oversubscribed edges).
//
// An edge switch has d = k/2 ports down and u = d / oversubscription up; the others stay empty, so that the number
// of hosts does not depend on the oversubscription.
//   2 levels: k edges, u spines, every edge cabled to every spine;            k * d hosts.
//   3 levels: k pods of k/2 edges and u aggregations, u * k/2 cores; core c of
//             column a is cabled to aggregation a of every pod;               k * k/2 * d hosts.
// With `hosts` below that, edges and pods that would be empty are left out, and so are switches that no path
// could use: spines above a single edge, cores above a single pod.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/topology/generators/generator.hpp"
#include "orrery/topology/generators/hosts.hpp"

namespace orrery::topology {
namespace {

struct FatTreeSpec : CableFields, HostFields {
  std::int64_t k = 0;
  std::int64_t levels = 3;
  double oversubscription = 1;
  std::optional<std::int64_t> hosts;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("k", &FatTreeSpec::k, "Ports of each switch.",
          config::Rule{.required = true, .min = 2, .max = 4096});
    field("levels", &FatTreeSpec::levels, "Layers of switches: 2 or 3.", config::Rule{.min = 2, .max = 3});
    field("oversubscription", &FatTreeSpec::oversubscription, "Ports down to ports up of an edge switch.",
          config::Rule{.min = 1, .max = 4096});
    field("hosts", &FatTreeSpec::hosts, "Build only this many hosts; absent = all that fit.",
          config::Rule{.min = 1, .max = static_cast<double>(kMaxNodes)});
    CableFields::fields(field);
    HostFields::fields(field);
  }
};

struct Shape {
  std::int64_t up = 0;             ///< Of an edge switch; also spines, or aggregations of a pod.
  std::int64_t down = 0;           ///< Hosts of an edge switch.
  std::int64_t edges_per_pod = 0;  ///< Two levels are one pod of k edges.
  std::int64_t hosts = 0;
};

Shape shape_of(const FatTreeSpec& spec, const config::Cursor& at) {
  spec.check(at);
  if (spec.k % 2 != 0) at.at("k").fail("a fat tree needs switches with an even number of ports");
  Shape shape;
  shape.down = spec.k / 2;
  const double up = static_cast<double>(shape.down) / spec.oversubscription;
  shape.up = std::llround(up);
  if (shape.up < 1 || std::abs(up - static_cast<double>(shape.up)) > 1e-9) {
    at.fail(fmt::format(
        "k={} with oversubscription {} gives {:.2f} ports up; it must be a whole number of at least 1",
        spec.k, spec.oversubscription, up));
  }
  shape.edges_per_pod = spec.levels == 2 ? spec.k : spec.k / 2;
  const std::int64_t capacity = (spec.levels == 2 ? 1 : spec.k) * shape.edges_per_pod * shape.down;
  shape.hosts = spec.hosts.value_or(capacity);
  if (shape.hosts > capacity) {
    at.at("hosts").fail(
        fmt::format("expected at most {}, the hosts that {} levels of {}-port switches can hold", capacity,
                    spec.levels, spec.k));
  }
  return shape;
}

/// Three levels: every aggregation a of every pod to its k/2 cores.
void add_cores(const FatTreeSpec& spec, std::int64_t columns, const std::vector<NodeId>& aggregations,
               Draft& draft) {
  const std::int64_t per_column = spec.k / 2;
  std::vector<NodeId> cores;
  for (std::int64_t core = 0; core < columns * per_column; ++core) {
    cores.push_back(draft.add(indexed("core", core), NodeKind::kSwitch));
  }
  for (std::size_t i = 0; i < aggregations.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i) % columns;
    for (std::int64_t c = 0; c < per_column; ++c) {
      spec.connect(draft, aggregations[i], cores[static_cast<std::size_t>(column * per_column + c)]);
    }
  }
}

Draft build(const FatTreeSpec& spec, const config::Cursor& at) {
  const Shape shape = shape_of(spec, at);
  const std::int64_t edge_count = div_ceil(shape.hosts, shape.down);
  const std::int64_t pods = div_ceil(edge_count, shape.edges_per_pod);
  const std::int64_t half = spec.k / 2;
  const auto switches = static_cast<double>(edge_count + pods * shape.up + shape.up * half);
  const auto cables = static_cast<double>(edge_count * shape.up + pods * shape.up * half);
  expect_size(at, static_cast<double>(shape.hosts * spec.nodes()) + switches,
              static_cast<double>(shape.hosts * spec.nodes()) + cables);

  Draft draft = spec.draft();
  const bool is_pod_based = spec.levels == 3;
  const auto pod_name = [&](std::int64_t pod) { return is_pod_based ? indexed("pod", pod) : std::string{}; };
  std::vector<NodeId> attachments;
  for (std::int64_t host = 0; host < shape.hosts; ++host) {
    attachments.push_back(spec.add_host(draft, host, pod_name(host / (shape.down * shape.edges_per_pod))));
  }

  std::vector<NodeId> edges;
  for (std::int64_t edge = 0; edge < edge_count; ++edge) {
    edges.push_back(
        draft.add(indexed("edge", edge), NodeKind::kSwitch, pod_name(edge / shape.edges_per_pod)));
    const std::int64_t end = std::min((edge + 1) * shape.down, shape.hosts);
    for (std::int64_t host = edge * shape.down; host < end; ++host) {
      spec.connect(draft, attachments[static_cast<std::size_t>(host)], edges.back());
    }
  }
  if (edge_count == 1) return draft;

  std::vector<NodeId> uppers;
  for (std::int64_t upper = 0; upper < pods * shape.up; ++upper) {
    uppers.push_back(draft.add(indexed(is_pod_based ? "aggregation" : "spine", upper), NodeKind::kSwitch,
                               pod_name(upper / shape.up)));
  }
  for (std::int64_t edge = 0; edge < edge_count; ++edge) {
    const std::int64_t first = edge / shape.edges_per_pod * shape.up;
    for (std::int64_t i = 0; i < shape.up; ++i) {
      spec.connect(draft, edges[static_cast<std::size_t>(edge)], uppers[static_cast<std::size_t>(first + i)]);
    }
  }
  if (is_pod_based && pods > 1) add_cores(spec, shape.up, uppers, draft);
  return draft;
}

}  // namespace

Generator fattree_generator() {
  return describe_generator<FatTreeSpec>("fattree", "Two or three layers of k-port switches.", build);
}

}  // namespace orrery::topology
