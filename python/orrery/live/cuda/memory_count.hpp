// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Bytes of the simulated devices: now, at the peak, and what they are for.
///
/// What a block is for is often known only later: moments of an optimizer are, when it has made its step. So the counts
/// of the peak are kept up: a block that is alive and not younger than the peak was there, and moves in both.
#include <array>
#include <functional>

#include "torch.hpp"

namespace orrery::live::cuda {

inline constexpr int kMostDevices = 64;
inline constexpr std::int64_t kBlock = 512;  ///< CUDA's allocator rounds to this.

constexpr std::int64_t round_to_blocks(std::int64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

/// What memory is for. A later one takes a block from those before it, never the other way round.
enum class Part : std::uint8_t { kOther, kActivation, kOptimizer, kGradient, kParameter };
using Parts = std::array<std::int64_t, 5>;
inline constexpr std::array<const char*, 5> kPartNames{"other", "activations", "optimizer state", "gradients",
                                                       "parameters"};

inline thread_local Part present_part = Part::kOther;  ///< Of what is made now.

/// One allocation.
struct MemoryBlock {
  int device = 0;
  Part part = Part::kOther;
  std::int64_t bytes = 0;   ///< Rounded.
  std::int64_t number = 0;  ///< The how many-th of its device, from 1.
};

/// Bytes of one device.
struct MemoryCount {
  std::int64_t now = 0;
  std::int64_t peak = 0;           ///< Since the program reset it.
  std::int64_t reserved_peak = 0;  ///< Since the cache was emptied; what is freed stays in the cache.
  std::int64_t allocations = 0;
  std::int64_t frees = 0;
  Parts parts{};           ///< Of `now`.
  std::int64_t most = 0;   ///< The peak of the whole run.
  Parts most_parts{};      ///< Of `most`.
  std::int64_t most_at{};  ///< `allocations` then.
};

class Memory {
 public:
  static Memory& instance() {
    static auto* memory = new Memory;  // Never destroyed: tensors outlive everything.
    return *memory;
  }

  void set_limit(std::int64_t bytes) { limit_ = bytes; }
  MemoryCount& of(int device) { return counts_.at(static_cast<std::size_t>(device)); }
  /// Where the coordinator reads the peak; null: nowhere.
  void set_page(orrery_memory* page) {
    page_ = page;
    publish(fullest_);
  }
  /// Asked before memory is said to be full: marks what has not been marked yet.
  void set_collector(std::function<void()> collect) { collect_ = std::move(collect); }

  /// Throws torch.OutOfMemoryError where the real device would be full.
  void check(int device, std::int64_t rounded) {
    const MemoryCount& count = of(device);
    if (limit_ <= 0 || count.now + rounded <= limit_) return;
    if (collect_) collect_();
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", text(rounded),
                     ". GPU ", device, " has a total capacity of ", text(limit_), " of which ",
                     text(limit_ - count.now),
                     " is free (simulated device of the cluster file). Of the allocated memory ",
                     text(count.now), ": ", text(count.parts), ".");
  }
  void add(MemoryBlock& block) {
    check(block.device, block.bytes);
    MemoryCount& count = of(block.device);
    count.now += block.bytes;
    count.parts[index(block.part)] += block.bytes;
    block.number = ++count.allocations;
    count.peak = std::max(count.peak, count.now);
    count.reserved_peak = std::max(count.reserved_peak, count.now);
    if (count.now <= count.most) return;
    count.most = count.now;
    count.most_parts = count.parts;
    count.most_at = count.allocations;
    publish(block.device);
  }
  void remove(const MemoryBlock& block) {
    MemoryCount& count = of(block.device);
    count.now -= block.bytes;
    count.parts[index(block.part)] -= block.bytes;
    ++count.frees;
  }
  void mark(MemoryBlock& block, Part part) {
    if (part <= block.part) return;
    MemoryCount& count = of(block.device);
    const auto move = [&](Parts& parts) {
      parts[index(block.part)] -= block.bytes;
      parts[index(part)] += block.bytes;
    };
    move(count.parts);
    if (block.number <= count.most_at) move(count.most_parts);
    block.part = part;
    publish(block.device);
  }

 private:
  static constexpr std::size_t index(Part part) { return static_cast<std::size_t>(part); }

  /// A rank's device is the one of which it has had most.
  void publish(int device) {
    if (of(device).most > of(fullest_).most) fullest_ = device;
    if (page_ == nullptr || device != fullest_) return;
    const MemoryCount& count = of(device);
    const auto part = [&](Part which) { return count.most_parts[index(which)]; };
    *page_ = {.peak = count.most,
              .parameters = part(Part::kParameter),
              .gradients = part(Part::kGradient),
              .optimizer = part(Part::kOptimizer),
              .activations = part(Part::kActivation),
              .other = part(Part::kOther)};
  }

  static std::string text(std::int64_t bytes) {
    constexpr double kMiB = 1 << 20;
    char line[48];
    const double size = static_cast<double>(bytes) / kMiB;
    std::snprintf(line, sizeof line, size < 1024 ? "%.2f MiB" : "%.2f GiB", size < 1024 ? size : size / 1024);
    return line;
  }
  static std::string text(const Parts& parts) {
    std::string line;
    for (std::size_t i = parts.size(); i-- > 0;) {
      line += std::string{kPartNames[i]} + " " + text(parts[i]) + (i > 0 ? ", " : "");
    }
    return line;
  }

  std::int64_t limit_ = 0;  ///< 0: none.
  std::array<MemoryCount, kMostDevices> counts_{};
  int fullest_ = 0;
  orrery_memory* page_ = nullptr;
  std::function<void()> collect_;
};

}  // namespace orrery::live::cuda
