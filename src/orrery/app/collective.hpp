// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery collective` as a call: times of a collective for sizes and algorithms, in one table.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/engine/event_queue.hpp"

namespace orrery::app {

/// A few seconds of work at most: `direct` on 135 ranks, a ring of 1,581.
inline constexpr std::int64_t kEffortBudget = 5'000'000;

/// Values are texts where the command line has texts, so that every front reports mistakes alike.
struct CollectiveOptions {
  std::string operation;                ///< "all_reduce", ...
  std::string cluster;                  ///< File, preset, or generator in one line.
  std::optional<std::int64_t> ranks{};  ///< The first so many; absent = all (send_recv: two).
  std::string group{};                  ///< "0,2,4-7"; not together with `ranks`.
  std::string size = "1KiB..1GiB";      ///< As parse_sizes() reads it.
  std::vector<std::int64_t> uneven{};   ///< Bytes per rank, or per pair for all_to_all; replaces `size`.
  std::string algorithm = "auto";       ///< A name, several, or a selection word.
  std::int64_t budget =
      kEffortBudget;             ///< `auto` leaves out algorithms that cost more: collectives::effort_of().
  std::string network = "flow";  ///< As choose_network() reads it.
  std::string dtype = "float32";
  std::int64_t root = 0;
  std::uint64_t seed = 0;
  std::string skew = "0s";      ///< Ranks begin at random times in [0, skew].
  std::int64_t iterations = 1;  ///< Back to back: a rank begins the next when it is done with the last.
  std::int64_t workers = 1;     ///< Threads; 0 = one per core. Never changes a result.
  std::string trace{};          ///< Timeline file to write, or "".
  bool lenient = false;         ///< For the cluster file.
  std::string catalog{};        ///< "" = where it is found.
  std::string option_prefix{};  ///< "--" for the command line: how errors name these options.
  std::vector<std::string> command{};                  ///< For the manifest.
  engine::QueueKind queue = engine::QueueKind::kAuto;  ///< Never changes a result; for tests.
  /// Both are called by the calling thread.
  std::function<void(std::size_t done, std::size_t total)> on_progress{};
  std::function<bool()> wants_stop{};
};

/// What a packet model counted at one link.
struct LinkFacts {
  std::string link;
  std::uint64_t packets = 0;
  std::uint64_t drops = 0;
  std::uint64_t marks = 0;
  std::uint64_t pauses = 0;
  std::int64_t longest_queue_bytes = 0;
};

/// One algorithm at one size.
struct CollectiveRow {
  std::string operation;
  std::string algorithm;  ///< As shown: "ring", "nccl: ring LL128".
  std::string schedule;   ///< Name of the algorithm in the registry.
  std::string network;
  std::uint32_t ranks = 0;
  std::int64_t size_bytes = 0;
  std::int64_t time_ps = 0;          ///< Of one iteration, rounded up.
  std::int64_t total_time_ps = 0;    ///< From the first rank's begin to the last rank's end.
  std::optional<double> algbw_gbps;  ///< GB/s (1e9 bytes); absent when no time passed.
  std::optional<double> busbw_gbps;
  std::uint64_t messages = 0;  ///< Of one iteration.
  std::int64_t wire_bytes = 0;
  bool is_best = false;    ///< Fastest at its size; the first of equals.
  LinkFacts packet_total;  ///< Over all links; no packets with models that know none. Queue: the longest.
  std::vector<LinkFacts> crowded;  ///< Links with losses, pauses or queues, the worst first; at most 32.
  std::vector<std::string> notes;
  std::uint64_t digest = 0;
};

struct CollectiveResult {
  std::string cluster;              ///< Its name.
  std::string network;              ///< With settings.
  std::vector<CollectiveRow> rows;  ///< By size, then algorithm; the order never depends on `workers`.
  std::vector<std::string> warnings;
  std::string trace;       ///< File that was written.
  std::string trace_note;  ///< What is on it.
  std::uint64_t seed = 0;
  std::uint64_t digest = 0;  ///< Over the digests of all rows, in order.
  std::vector<std::pair<std::string, std::string>> configuration;
  std::vector<std::string> command;
};

/// InputError, SimulationError, engine::Interrupted.
[[nodiscard]] CollectiveResult collective(const CollectiveOptions& options);

/// {"results": [...], "manifest": {...}, ...}, indented, with a final newline.
[[nodiscard]] std::string to_json(const CollectiveResult& result);
/// The rows as a CSV file with the manifest on top.
void write_csv(const CollectiveResult& result, const std::string& path);

}  // namespace orrery::app
