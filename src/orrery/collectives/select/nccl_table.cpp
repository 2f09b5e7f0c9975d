// SPDX-License-Identifier: Apache-2.0
// With n ranks, a buffer of S bytes, M messages in a row of m bytes each, and L latency steps
//   ring     M = L = 2(n-1) for all_reduce, n-1 otherwise, m = S/n
//   direct   M = n-1, L = 1, m = S/n
//   offload  M = L = 1, m = S
// NCCL estimates  latency + L step + M m / bandwidth  and runs the least; the time of what runs is
//   launch' + L (step_overhead + path) + M m / (efficiency bandwidth)
// (offload: times 1 + 1/pieces, the last piece's way down). Fitted for one NVSwitch node, n <= 8, S of 512 B to
// 512 MiB; beyond that it extrapolates. Error and the laws of efficiency: docs/models/nccl.md.
#include "orrery/collectives/select/nccl_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::collectives {
namespace {

/// One rank's critical path through an entry's schedule.
struct Shape {
  double messages = 0;  ///< Sent one after the other.
  double steps = 0;     ///< Path latencies in a row.
  double message = 0;   ///< Bytes of each.
};

Shape shape_of(const NcclEntry& entry, const NcclRequest& request) {
  const double size = static_cast<double>(request.size.count());
  const double ranks = request.ranks;
  if (entry.algorithm == "offload") return {.messages = 1, .steps = 1, .message = size};
  if (entry.algorithm == "direct") return {.messages = ranks - 1, .steps = 1, .message = size / ranks};
  const double steps = (ranks - 1) * (request.operation == Operation::kAllReduce ? 2 : 1);
  return {.messages = steps, .steps = steps, .message = size / ranks};
}

double in_picoseconds(Duration duration) { return static_cast<double>(duration.count()); }

double tuner_picoseconds(const NcclEntry& entry, const NcclRequest& request) {
  if (!entry.tuner) return 0;
  const Shape shape = shape_of(entry, request);
  return in_picoseconds(entry.tuner->latency) + shape.steps * in_picoseconds(entry.tuner->step) +
         shape.messages * shape.message / entry.tuner->bandwidth.bytes_per_picosecond();
}

bool serves(const NcclEntry& entry, Operation operation) {
  return std::ranges::find(entry.operations, to_text(operation)) != entry.operations.end();
}

bool can_run(const NcclEntry& entry, const NcclRequest& request) {
  if (!serves(entry, request.operation) || (entry.floating_only && !request.floating)) return false;
  return !entry.max_message ||
         shape_of(entry, request).message <= static_cast<double>(entry.max_message->count());
}

const NcclEntry& least_estimate(const NcclTable& table, const NcclRequest& request) {
  const NcclEntry* best = nullptr;
  double best_time = 0;
  for (const NcclEntry& entry : table.entries) {
    if (!can_run(entry, request)) continue;
    const double time = tuner_picoseconds(entry, request);
    if (best != nullptr && time >= best_time) continue;
    best = &entry;
    best_time = time;
  }
  if (best == nullptr) {
    throw InputError{fmt::format("the NCCL table of {} has no entry for {} of {}", table.platform,
                                 to_text(request.operation), to_text(request.size))};
  }
  return *best;
}

double channels_used(const NcclEntry& entry, double message) {
  if (entry.channel_bytes == Bytes{0}) return entry.channels;
  return std::clamp(message / static_cast<double>(entry.channel_bytes.count()), 1.0, entry.channels);
}

/// Wire bytes per payload byte.
double wire_scale(const NcclEntry& entry, const NcclRequest& request, const Shape& shape, double channels) {
  const double peers = request.ranks - 1;
  double scale = 1 / std::min(entry.peak, peers * entry.peer_share);
  scale *= 1 + entry.own_block / shape.messages;
  scale *= 1 + std::sqrt(static_cast<double>(entry.ramp.count()) / shape.message);
  scale *= entry.channels / channels;
  // A rank's link carries the buffer once and, for the shard it reduces, the result or the operand again.
  if (entry.algorithm == "offload") scale *= 1 + 1.0 / request.ranks;
  return scale;
}

}  // namespace

NcclTable load_nccl_table(const std::string& path) {
  const config::Document document = config::Document::load(path);
  return config::read_spec<NcclTable>(config::Cursor{document});
}

bool covers(const NcclTable& table, Operation operation) {
  return std::ranges::any_of(table.entries, [&](const NcclEntry& entry) { return serves(entry, operation); });
}

NcclChoice choose(const NcclTable& table, const NcclRequest& request) {
  ORRERY_CHECK(request.ranks > 0, "a collective without ranks");
  ORRERY_CHECK(request.size >= Bytes{0}, "{} bytes", request.size.count());
  ORRERY_CHECK(request.link_bandwidth.bits_per_second() > 0, "a link without bandwidth");
  const NcclEntry& entry = least_estimate(table, request);
  NcclChoice choice{.algorithm = entry.algorithm, .protocol = entry.protocol};
  if (request.ranks == 1) return choice;

  Shape shape = shape_of(entry, request);
  shape.message = std::max(shape.message, 1.0);  // The laws divide by it; nothing is as fast as one byte.
  const double channels = channels_used(entry, shape.message);
  double launch = in_picoseconds(entry.launch) + in_picoseconds(entry.launch_wide) * (1 - 1 / channels);
  if (entry.algorithm == "direct") launch += (request.ranks - 1) * in_picoseconds(entry.launch_per_peer);
  const double scale = wire_scale(entry, request, shape, channels);

  choice.launch = ceil_to_duration(launch);
  choice.step_overhead = entry.step_overhead;
  choice.efficiency = 1 / scale;
  double wire = shape.messages * shape.message * scale;
  if (entry.algorithm == "offload") {
    choice.pieces = static_cast<std::uint32_t>(entry.pieces);
    wire *= 1 + 1 / static_cast<double>(entry.pieces);
  }
  const double steps = shape.steps * in_picoseconds(entry.step_overhead + request.path_latency);
  choice.predicted = ceil_to_duration(launch + steps + wire / request.link_bandwidth.bytes_per_picosecond());
  return choice;
}

}  // namespace orrery::collectives
