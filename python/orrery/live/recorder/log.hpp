// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What one rank of a real run did: operations, stretches in which its thread was blocked, sleeps. Kept in memory, a
/// vector each, and written once at the end: appending costs less than looking at the clock.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace orrery::live::recorder {

inline std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

struct Operation {
  const char* name = "";
  std::uint32_t group = 0;
  std::uint64_t sequence = 0;
  std::int32_t peer = -1;  ///< Rank in the world, of the root, source or target.
  std::int64_t bytes = 0;
  std::int64_t posted = 0;
  std::int64_t returned = 0;  ///< When the call that posted it came back.
  std::int64_t done = 0;      ///< 0: nobody has seen its end.
  bool has_failed = false;
  bool is_async = true;  ///< False: the caller waits at once.
  std::string where;
};

struct Blocked {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t operation = -1;  ///< -1: in a future, of whatever ends next.
};

class Log {
 public:
  static Log& instance() {
    static auto* log = new Log;  // Never destroyed: gloo's threads may outlive everything.
    return *log;
  }

  std::uint32_t add_group(const std::string& name, const std::vector<std::int32_t>& ranks) {
    const std::lock_guard lock{mutex_};
    groups_.push_back({name, ranks});
    return static_cast<std::uint32_t>(groups_.size() - 1);
  }
  std::size_t begin(Operation operation) {
    const std::lock_guard lock{mutex_};
    operations_.push_back(std::move(operation));
    return operations_.size() - 1;
  }
  void returned(std::size_t index, std::int64_t at) {
    const std::lock_guard lock{mutex_};
    operations_[index].returned = at;
  }
  /// The first to see the end is right: later ones were late to look.
  void done(std::size_t index, std::int64_t at, bool has_failed = false) {
    const std::lock_guard lock{mutex_};
    Operation& operation = operations_[index];
    if (operation.done == 0) operation.done = at;
    operation.has_failed = operation.has_failed || has_failed;
  }
  void set_peer(std::size_t index, std::int32_t peer) {
    const std::lock_guard lock{mutex_};
    operations_[index].peer = peer;
  }
  void blocked(std::int64_t begin, std::int64_t end, std::int64_t operation) {
    const std::lock_guard lock{mutex_};
    if (operation >= 0) {
      // Between a call and its wait gloo's threads take the core: that is a part of the operation.
      const Operation& one = operations_[static_cast<std::size_t>(operation)];
      if (!one.is_async) begin = std::min(begin, one.returned);
    }
    blocked_.push_back({begin, end, operation});
  }
  void slept(std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock{mutex_};
    sleeps_.push_back({begin, end, -1});
  }

  /// Everything so far, after the lines of `head`. False when it cannot be written.
  bool write(const std::string& path, const std::string& head) {
    const std::lock_guard lock{mutex_};
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    std::fputs(head.c_str(), file);
    for (const Group& group : groups_) {
      std::fprintf(file, "group %s", group.name.empty() ? "-" : group.name.c_str());
      for (const std::int32_t rank : group.ranks) std::fprintf(file, " %d", rank);
      std::fputs("\n", file);
    }
    for (const Operation& one : operations_) {
      std::fprintf(file, "op %s %u %llu %d %lld %lld %lld %lld %d %s\n", one.name, one.group,
                   static_cast<unsigned long long>(one.sequence), one.peer, static_cast<long long>(one.bytes),
                   static_cast<long long>(one.posted), static_cast<long long>(one.returned),
                   static_cast<long long>(one.done), one.has_failed ? 1 : 0, one.where.c_str());
    }
    write_stretches(file, "blocked", blocked_);
    write_stretches(file, "sleep", sleeps_);
    std::fputs("end\n", file);
    return std::fclose(file) == 0;
  }

 private:
  struct Group {
    std::string name;
    std::vector<std::int32_t> ranks;
  };

  Log() {
    constexpr std::size_t kRoom = 1 << 14;
    operations_.reserve(kRoom);
    blocked_.reserve(kRoom);
  }
  static void write_stretches(std::FILE* file, const char* kind, const std::vector<Blocked>& stretches) {
    for (const Blocked& one : stretches) {
      std::fprintf(file, "%s %lld %lld %lld\n", kind, static_cast<long long>(one.begin),
                   static_cast<long long>(one.end), static_cast<long long>(one.operation));
    }
  }

  std::mutex mutex_;
  std::vector<Group> groups_;
  std::vector<Operation> operations_;
  std::vector<Blocked> blocked_;
  std::vector<Blocked> sleeps_;
};

}  // namespace orrery::live::recorder
