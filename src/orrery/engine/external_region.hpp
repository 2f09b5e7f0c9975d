// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory that the host and the programs outside share: one slot per process, and a bell for the host.
///
/// The same bytes serve threads, forked children and programs started anew: the region is an anonymous file
/// (memfd), so whoever inherits its descriptor can map it, and it vanishes with the last one who holds it.
/// A slot belongs to one side at a time, and its state word says to which. Standard library only.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/engine/call.hpp"
#include "orrery/engine/futex.hpp"

namespace orrery::engine {

enum class SlotState : std::uint32_t {
  kWaiting,   ///< The host's: the program has asked, or has not begun.
  kAsleep,    ///< The host's, and the program sleeps on the word: changing it takes a wake.
  kRunning,   ///< The program's.
  kFinished,  ///< Nobody's: `clock` says when.
  kClosed,    ///< Nobody's: the run is over, the program must leave.
};

inline constexpr std::size_t kCacheLine = 64;

struct alignas(kCacheLine) Slot {
  FutexWord state;      ///< A SlotState.
  std::int64_t clock;   ///< Picoseconds: when the program asks, or when it is resumed.
  std::int64_t answer;  ///< What it is resumed with.
  Call call;

  [[nodiscard]] SlotState load() const { return SlotState{state.load(std::memory_order_acquire)}; }
  /// Moves from `expected`, or says what the state really is.
  bool exchange(SlotState& expected, SlotState next) {
    auto word = static_cast<std::uint32_t>(expected);
    const bool done =
        state.compare_exchange_strong(word, static_cast<std::uint32_t>(next), std::memory_order_acq_rel);
    expected = SlotState{word};
    return done;
  }
};

/// Gives the slot to the program, or closes it, and wakes the program if it sleeps.
void set_state(Slot& slot, SlotState next);

/// Movable, not copied. Failures of the system are std::system_error.
class ExternalRegion {
 public:
  /// The host's: a new region of `slots` > 0 slots. Its descriptor is close-on-exec.
  [[nodiscard]] static ExternalRegion create(std::uint32_t slots);
  /// A program's: maps what the descriptor holds; the descriptor stays the caller's.
  [[nodiscard]] static ExternalRegion open(int descriptor);
  ExternalRegion(ExternalRegion&& other) noexcept;
  ExternalRegion& operator=(ExternalRegion&&) = delete;
  ~ExternalRegion();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::uint32_t size() const { return slots_; }
  [[nodiscard]] Slot& slot(std::uint32_t index) const { return slot_[index]; }

  /// A program's: the slot now holds a request, or its end. Its place goes to the next in the queue; only when
  /// nobody waits for one, or when it is urgent, does the host hear of it.
  void post(std::uint32_t index, bool is_urgent);
  /// Anybody's, from any thread: makes the host look.
  void ring();
  /// The host's: sleeps until rung; may return early.
  void listen();
  /// The host's: whether posts pass places on (else they are the host's to give). Before anybody runs.
  void pass_places_on(std::uint32_t places);
  /// The host's: the slot waits for a place. Each at most once.
  void queue(std::uint32_t index);
  /// The host's: gives free places to those that wait, in order.
  void fill_places();
  /// The host's: appends the slots posted since it last looked, lowest first.
  void collect(std::vector<std::uint32_t>& posted);
  /// Whether the process that created the region still exists.
  [[nodiscard]] bool has_host() const;

 private:
  struct Header;
  /// Takes the next out of the queue and lets it go; false when nobody waits.
  bool release_next();
  ExternalRegion(void* memory, std::size_t bytes, std::uint32_t slots, int descriptor);

  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t slots_ = 0;  // Our own copy: nobody outside can move our bounds.
  int descriptor_ = -1;
  Header* header_ = nullptr;
  std::atomic<std::uint64_t>* posted_ = nullptr;
  std::atomic<std::uint32_t>* queue_ = nullptr;  // A ring of as many entries as there are slots.
  Slot* slot_ = nullptr;
};

}  // namespace orrery::engine
