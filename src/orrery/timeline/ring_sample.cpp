// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/ring_sample.hpp"

#include <fmt/format.h>

#include <array>

namespace orrery::timeline::test {
namespace {

constexpr std::size_t kRanks = 4;
constexpr Duration kLatency = picoseconds(936'250);
constexpr Duration kSlice = picoseconds(5'242'881);  // 256 KiB at just under 50 GB/s.
constexpr Duration kCompute = picoseconds(4'000'333);

struct Tracks {
  std::array<TrackId, kRanks> ranks;
  std::array<TrackId, kRanks> links;  // links[r] leaves rank r.
};

void record_step(Recorder& recorder, const Tracks& tracks, std::size_t step, Time begin) {
  const Time end = begin + kSlice + kLatency;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const std::size_t next = (rank + 1) % kRanks;
    const auto name = step < kRanks - 1 ? "reduce-scatter step" : "all-gather step";
    recorder.span(tracks.ranks[rank], name, begin, end,
                  fmt::format("step {}, 256KiB to rank {}", step, next));
    // A message is on the link from its first byte's departure to its last byte's arrival, so the
    // latency of one overlaps the next one.
    recorder.span(tracks.links[rank], "256KiB", begin, end, fmt::format("rank {} to rank {}", rank, next));
    recorder.flow(tracks.ranks[rank], begin, tracks.ranks[next], end);
    recorder.counter(tracks.links[rank], "GB/s", begin, 49.99);
    recorder.counter(tracks.links[rank], "GB/s", begin + kSlice, 0);
  }
}

}  // namespace

void record_ring(Recorder& recorder) {
  Tracks tracks;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    tracks.ranks[rank] = recorder.track("ranks", fmt::format("rank {}", rank));
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    tracks.links[rank] = recorder.track("links", fmt::format("gpu[{}]->gpu[{}]", rank, (rank + 1) % kRanks));
  }
  Time now{};
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    recorder.span(tracks.ranks[rank], "matmul", now, now + kCompute, "4096 x 4096 x 4096");
  }
  now += kCompute;
  const Time begin = now;
  constexpr std::size_t kSteps = 2 * (kRanks - 1);
  for (std::size_t step = 0; step < kSteps; ++step) {
    record_step(recorder, tracks, step, now);
    now += kSlice + kLatency;
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    recorder.span(tracks.ranks[rank], "all-reduce", begin, now, "1MiB, ring");
  }
  // Two messages share a link: the second row of the track.
  recorder.span(tracks.links[0], "checkpoint", begin + kSlice, now + kSlice, "shares the link");
  // Nobody waits at either end: both ends of the arrow get a mark.
  recorder.flow(tracks.ranks[1], now + kLatency, tracks.ranks[2], now + kSlice);
}

Manifest ring_manifest() {
  Manifest manifest;
  manifest.version = "0.1.0";
  manifest.commit = "0123abc";
  manifest.seed = 7;
  manifest.digest = 0xABCD;
  manifest.configuration = {{"cluster", "ring.yaml"}, {"collective.size", "1MiB"}};
  manifest.command = {"orrery",  "collective", "all_reduce", "--cluster=/data/ring.yaml",
                      "--label", "two words"};
  return manifest;
}

}  // namespace orrery::timeline::test
