// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/collective_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "orrery/app/repeated_run.hpp"
#include "orrery/app/simulation.hpp"
#include "orrery/base/rng.hpp"
#include "orrery/base/text.hpp"

namespace orrery::app {
namespace {

/// When a rank begins. Each has its own stream of random numbers: its begin does not depend on the others.
Duration begin_of(collectives::Rank rank, Duration skew, std::uint64_t seed) {
  if (skew == Duration{}) return skew;
  Rng rng{seed, fmt::format("rank[{}]", rank), "skew"};
  return Duration{rng.between(0, count_ps(skew))};
}

/// 1e9 bytes per second, or nothing when no time passed.
std::optional<double> gigabytes_per_second(Bytes size, std::int64_t picoseconds) {
  if (picoseconds == 0) return std::nullopt;
  return static_cast<double>(size.count()) * 1e3 / static_cast<double>(picoseconds);
}

/// Sums over links, and the links where packets had to wait.
void add_packet_facts(const network::NetworkModel& network, const topology::Graph& graph,
                      CollectiveRow& row) {
  constexpr std::size_t kMost = 32;
  const std::vector<network::LinkCounters> counters = network.link_counters();
  LinkFacts& total = row.packet_total;
  for (std::size_t link = 0; link < counters.size(); ++link) {
    const network::LinkCounters& one = counters[link];
    total.packets += one.packets;
    total.drops += one.drops;
    total.marks += one.marks;
    total.pauses += one.pauses;
    total.longest_queue_bytes = std::max(total.longest_queue_bytes, one.longest_queue.count());
    if (one.drops + one.marks + one.pauses == 0 && one.longest_queue == Bytes{}) continue;
    row.crowded.push_back({.link = graph.link_name(topology::LinkId{link}),
                           .packets = one.packets,
                           .drops = one.drops,
                           .marks = one.marks,
                           .pauses = one.pauses,
                           .longest_queue_bytes = one.longest_queue.count()});
  }
  std::ranges::stable_sort(row.crowded, [](const LinkFacts& a, const LinkFacts& b) {
    return std::tie(a.drops, a.longest_queue_bytes) > std::tie(b.drops, b.longest_queue_bytes);
  });
  if (row.crowded.size() > kMost) row.crowded.resize(kMost);
}

}  // namespace

CollectiveRow run_point(const CollectivePoint& point, const PointContext& context) {
  const CollectivePlan& plan = context.plan;
  const collectives::CollectiveRequest request = plan.request(point.size, context.options.root);
  const std::shared_ptr<const collectives::Schedule> schedule =
      point.choice.schedule ? point.choice.schedule
                            : plan.algorithms.get(point.choice.algorithm).plan(point.choice.request);
  const collectives::Layout layout = collectives::layout_of(request, *schedule);
  Simulation simulation{{.cluster = plan.cluster,
                         .router = context.router,
                         .network = plan.network,
                         .seed = context.options.seed,
                         .queue = context.options.queue,
                         .observer = context.observer,
                         .wants_stop = context.wants_stop ? &context.wants_stop : nullptr}};
  const std::string name =
      fmt::format("{} ({}, {})", to_text(plan.operation), point.choice.label, to_text(point.size));
  RepeatedRun run{{simulation, *schedule, layout, point.choice, name, context.options.iterations}};
  for (collectives::Rank rank = 0; rank < plan.group.size(); ++rank) {
    run.begin(rank, begin_of(plan.group[rank], plan.skew, context.options.seed));
  }
  simulation.engine().run();
  ORRERY_CHECK(run.is_done(), "{} ended without all ranks being done", name);

  CollectiveRow row;
  row.operation = to_text(plan.operation);
  row.algorithm = point.choice.label;
  row.schedule = point.choice.algorithm;
  row.network = plan.network.name;
  row.ranks = static_cast<std::uint32_t>(plan.group.size());
  row.size_bytes = point.size.count();
  row.total_time_ps = count_ps(run.elapsed());
  row.time_ps = div_ceil(row.total_time_ps, context.options.iterations);
  row.algbw_gbps = gigabytes_per_second(point.size, row.time_ps);
  if (row.algbw_gbps) row.busbw_gbps = *row.algbw_gbps * collectives::bus_factor(plan.operation, row.ranks);
  row.messages = run.messages();
  row.wire_bytes = run.wire_bytes().count();
  row.notes = simulation.network().notes();
  add_packet_facts(simulation.network(), plan.cluster.graph, row);
  if (row.schedule == "offload") {
    // A cluster file cannot say yet what its switches can do, so the table must.
    row.notes.emplace_back(
        "offload needs switches that reduce and copy data (NVLink SHARP, InfiniBand SHARP)");
  }
  row.digest = simulation.engine().digest();
  return row;
}

}  // namespace orrery::app
