// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Events by instant, in ASTRA-sim's order: within an instant as they were inserted, and what is inserted for the
/// present instant runs in the same pass. The engine's clock moves from instant to instant: it sees one event for
/// each, so that thousands of ranks in step cost little more than one.
#include <array>
#include <cstdint>
#include <vector>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/engine/engine.hpp"

namespace orrery::astra {

enum class EventKind : std::uint8_t {
  kArrival,   ///< A message is at the next device of its way.
  kLinkFree,  ///< The link has sent its message.
  kRank,      ///< What a rank planned for this instant.
  kReceive,   ///< A receive was posted after its message had arrived.
};

struct Event {
  EventKind kind = EventKind::kRank;
  std::uint32_t subject = 0;
};

/// Where an event came from, to see whether its place among others could depend on who the rank is (fold.hpp).
struct Provenance {
  std::uint64_t inserted = 0;
  std::uint32_t actor = 0;
};

class Instants {
 public:
  Instants(engine::Engine& engine, engine::Handler& handler, bool keeps_provenance)
      : engine_{engine},
        handler_{handler},
        origin_{engine.add_origin("ASTRA-sim system layer")},
        keeps_provenance_{keeps_provenance} {
    table_.resize(kInitialTable, kNoBucket);
  }

  [[nodiscard]] std::uint64_t now() const { return now_; }

  void add(std::uint64_t delay, EventKind kind, std::uint32_t subject, std::uint32_t actor) {
    const std::uint64_t at = now_ + delay;
    const Cached& cached = cache_[at % kCached];
    Bucket& bucket = buckets_[at == cached.time ? cached.bucket : find(at)];
    bucket.events.push_back({kind, subject});
    if (keeps_provenance_) bucket.provenance.push_back({now_, actor});
  }

  /// Runs `execute(event, provenance)` for every event of the instant, those added meanwhile included.
  template <class Execute>
  void run(std::uint64_t number, Execute&& execute) {
    const auto index = static_cast<std::uint32_t>(number);
    now_ = buckets_[index].time;
    for (std::size_t i = 0; i < buckets_[index].events.size(); ++i) {
      const Event event = buckets_[index].events[i];
      execute(event, keeps_provenance_ ? buckets_[index].provenance[i] : Provenance{});
      ++executed_;
    }
    remove(index);
  }

  [[nodiscard]] std::uint64_t executed() const { return executed_; }

 private:
  struct Bucket {
    std::uint64_t time = 0;
    std::vector<Event> events;
    std::vector<Provenance> provenance;
  };
  /// A bucket found before: ranks in step ask for the same few instants again and again.
  struct Cached {
    std::uint64_t time = ~std::uint64_t{0};
    std::uint32_t bucket = 0;
  };
  static constexpr std::size_t kCached = 16;
  static constexpr std::uint32_t kNoBucket = 0xFFFFFFFF;
  static constexpr std::size_t kInitialTable = 64;
  static constexpr std::uint64_t kTimeLimit = 9'000'000'000'000'000;  // ns; the engine counts picoseconds.

  [[nodiscard]] std::size_t slot_of(std::uint64_t time) const {
    return static_cast<std::size_t>((time * 0x9E3779B97F4A7C15ULL) >> 32U) & (table_.size() - 1);
  }
  /// The bucket of `time`, made when there is none.
  std::uint32_t find(std::uint64_t time);
  void remove(std::uint32_t index);
  void grow();

  engine::Engine& engine_;
  engine::Handler& handler_;
  engine::OriginId origin_;
  bool keeps_provenance_;
  std::uint64_t now_ = 0;
  std::uint64_t executed_ = 0;
  std::array<Cached, kCached> cache_{};
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> table_;  // Open addressing: bucket by time.
  std::size_t used_ = 0;
};

}  // namespace orrery::astra
