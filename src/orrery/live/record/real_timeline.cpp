// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/record/real_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "orrery/base/error.hpp"

namespace orrery::live {
namespace {

constexpr std::int64_t kPicoseconds = 1000;  // In a nanosecond.

bool is_message(const RealOperation& operation) {
  return operation.name == "send" || operation.name == "recv";
}

/// One for every operation of the run, whoever takes part in it.
using Key = std::tuple<std::string, std::uint64_t, std::int64_t, std::int64_t>;

/// Collectives are numbered in their group; messages by their order between two ranks.
std::vector<Key> keys_of(const RealRank& rank) {
  std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t>, std::uint64_t> count;
  std::vector<Key> keys;
  for (const RealOperation& one : rank.operations) {
    const std::string& group = rank.groups[one.group].name;
    if (!is_message(one)) {
      keys.emplace_back(group, one.sequence, -1, -1);
      continue;
    }
    const bool is_send = one.name == "send";
    const std::int64_t from = is_send ? std::int64_t{rank.rank} : one.peer;
    const std::int64_t to = is_send ? one.peer : std::int64_t{rank.rank};
    keys.emplace_back(group, count[{one.group, from, to}]++, from, to);
  }
  return keys;
}

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void shift(RealRank& rank, std::int64_t by) {
  for (std::int64_t* time : {&rank.start, &rank.finish}) *time += by;
  if (rank.begin != 0) rank.begin += by;
  for (RealOperation& one : rank.operations) {
    for (std::int64_t* time : {&one.posted, &one.returned, &one.done}) {
      if (*time != 0) *time += by;
    }
  }
  for (std::vector<RealStretch>* list : {&rank.blocked, &rank.sleeps}) {
    for (RealStretch& one : *list) {
      one.begin += by;
      one.end += by;
    }
  }
}

/// Collectives after which everybody has heard from everybody: their ends are seen at nearly the same moment.
bool is_symmetric(const std::string& name) { return name == "barrier" || name.starts_with("all_"); }

/// Puts all clocks onto the first rank's; what is left of the differences.
Duration align(std::vector<RealRank>& ranks) {
  std::map<Key, std::int64_t> reference;
  const std::vector<Key> first = keys_of(ranks[0]);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const RealOperation& one = ranks[0].operations[i];
    if (is_symmetric(one.name) && one.done != 0) reference[first[i]] = one.done;
  }
  std::int64_t worst = 0;
  for (RealRank& rank : ranks) {
    if (rank.clock == ranks[0].clock) continue;
    std::vector<std::int64_t> differences;
    const std::vector<Key> keys = keys_of(rank);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto found = reference.find(keys[i]);
      const std::int64_t done = rank.operations[i].done;
      if (found != reference.end() && done != 0) differences.push_back(found->second - done);
    }
    if (differences.empty()) {
      throw InputError{fmt::format(
          "rank {} ran on another host than rank 0, and no collective of both can put their clocks together",
          rank.rank)};
    }
    const std::int64_t offset = median(differences);
    for (std::int64_t& difference : differences) difference = std::abs(difference - offset);
    worst = std::max(worst, median(differences));
    shift(rank, offset);
  }
  return Duration{worst * kPicoseconds};
}

/// What all parties of an operation know together.
struct Shared {
  std::int64_t begin = 0;  ///< When all of them were there.
  std::int64_t most = 0;   ///< Bytes of the one that gives most: a root, a sender.
  std::int64_t sum = 0;    ///< Of all.
};

std::map<Key, Shared> find_shared(const std::vector<RealRank>& ranks) {
  std::map<Key, Shared> found;
  for (const RealRank& rank : ranks) {
    const std::vector<Key> keys = keys_of(rank);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      Shared& shared = found[keys[i]];
      shared.begin = std::max(shared.begin, rank.operations[i].posted);
      shared.most = std::max(shared.most, rank.operations[i].bytes);
      shared.sum += rank.operations[i].bytes;
    }
  }
  return found;
}

/// As a simulated run notes them; a record has what the rank itself gave.
std::int64_t bytes_of(const RealOperation& one, const Shared& shared, std::size_t members) {
  if (one.name.starts_with("all_gather")) return shared.sum;
  if (one.name == "scatter") return shared.most / static_cast<std::int64_t>(members);
  return one.name == "broadcast" || is_message(one) ? shared.most : one.bytes;
}

/// Where one rank's time went.
class RankSums {
 public:
  RankSums(const RealRank& rank, const std::vector<std::int64_t>& begins) : rank_{rank}, begins_{begins} {
    from_ = std::max(rank.begin, rank.start);
  }

  RankTimes sum(std::int64_t zero) {
    std::vector<RealStretch> stretches = rank_.blocked;
    for (std::size_t i = 0; i < rank_.operations.size(); ++i) {
      const RealOperation& one = rank_.operations[i];
      // The call itself, too: gloo's threads often do all of the work before it comes back.
      if (one.returned != 0) stretches.push_back({one.posted, one.returned, static_cast<std::int64_t>(i)});
      if (one.posted < from_) continue;
      times_.bytes += one.bytes;
      ++times_.operations;
    }
    std::ranges::stable_sort(stretches, {}, &RealStretch::begin);
    std::int64_t at = from_;
    std::int64_t blocked = 0;
    for (const RealStretch& one : stretches) {
      const std::int64_t begin = std::max(one.begin, at);
      const std::int64_t end = std::min(one.end, rank_.finish);
      if (end <= begin) continue;
      add(one.operation >= 0 ? one.operation : awaited(one), begin, end);
      blocked += end - begin;
      at = end;
    }
    std::int64_t slept = 0;
    for (const RealStretch& one : rank_.sleeps) {
      slept += std::max<std::int64_t>(0, std::min(one.end, rank_.finish) - std::max(one.begin, from_));
    }
    times_.sleeping = Duration{slept * kPicoseconds};
    times_.compute =
        Duration{std::max<std::int64_t>(0, rank_.finish - from_ - blocked - slept) * kPicoseconds};
    times_.finish = Time{Duration{(rank_.finish - zero) * kPicoseconds}};
    if (rank_.begin != 0) times_.begin = Time{Duration{(rank_.begin - zero) * kPicoseconds}};
    times_.status = rank_.status;
    return times_;
  }

 private:
  void add(std::int64_t operation, std::int64_t begin, std::int64_t end) {
    const std::int64_t began = operation < 0 ? end : begins_[static_cast<std::size_t>(operation)];
    const std::int64_t met = std::clamp(began, begin, end);
    times_.waiting += Duration{(met - begin) * kPicoseconds};
    times_.communication += Duration{(end - met) * kPicoseconds};
  }
  /// The operation whose end a wait in a future most likely was for: the last to end in it; -1 when there is none.
  [[nodiscard]] std::int64_t awaited(const RealStretch& stretch) const {
    std::int64_t best = -1;
    std::int64_t latest = stretch.begin;
    for (std::size_t i = 0; i < rank_.operations.size(); ++i) {
      const RealOperation& one = rank_.operations[i];
      if (one.posted > stretch.end) break;
      if (one.done >= latest && one.done <= stretch.end) {
        latest = one.done;
        best = static_cast<std::int64_t>(i);
      }
    }
    return best;
  }

  const RealRank& rank_;
  const std::vector<std::int64_t>& begins_;
  std::int64_t from_ = 0;
  RankTimes times_;
};

/// An operation that its rank was blocked in is over when the rank goes on: being woken is a part of it.
void count_waking(RealRank& rank) {
  for (const RealStretch& one : rank.blocked) {
    if (one.operation < 0) continue;
    RealOperation& operation = rank.operations[static_cast<std::size_t>(one.operation)];
    if (operation.done != 0 && operation.done > one.begin) operation.done = std::max(operation.done, one.end);
  }
  for (RealOperation& operation : rank.operations) {
    // Over before the call came back: the rank was not on its core meanwhile.
    if (operation.done != 0 && operation.done < operation.returned) operation.done = operation.returned;
  }
}

}  // namespace

RealTimeline join_ranks(std::vector<RealRank> ranks) {
  RealTimeline timeline;
  for (RealRank& rank : ranks) count_waking(rank);
  timeline.clock_spread = align(ranks);
  const std::int64_t zero = std::ranges::min_element(ranks, {}, &RealRank::start)->start;
  const std::map<Key, Shared> shared = find_shared(ranks);
  const auto time_of = [&](std::int64_t time) { return Time{Duration{(time - zero) * kPicoseconds}}; };
  for (const RealRank& rank : ranks) {
    const std::vector<Key> keys = keys_of(rank);
    std::vector<std::int64_t> own;
    own.reserve(keys.size());
    for (const Key& key : keys) own.push_back(shared.at(key).begin);
    timeline.ranks.push_back(RankSums{rank, own}.sum(zero));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const RealOperation& one = rank.operations[i];
      const std::int64_t done = one.done == 0 ? rank.finish : one.done;
      OperationRecord record;
      record.rank = rank.rank;
      record.name = one.name;
      record.group = rank.groups[one.group].name;
      record.sequence = one.sequence;
      record.peer = one.peer;
      record.bytes = bytes_of(one, shared.at(keys[i]), rank.groups[one.group].ranks.size());
      record.posted = time_of(one.posted);
      record.done = time_of(std::max(done, one.posted));
      record.began = std::min(time_of(own[i]), record.done);
      record.has_failed = one.has_failed;
      record.where = one.where;
      timeline.operations.push_back(std::move(record));
    }
  }
  return timeline;
}

}  // namespace orrery::live
