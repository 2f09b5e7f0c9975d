// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "orrery/base/text.hpp"
#include "orrery/live/operation_text.hpp"
#include "orrery/live/parts.hpp"

namespace orrery::live {
namespace {

constexpr Duration kShortestStretch =
    std::chrono::microseconds{50};  // Less lies between a call and its wait,
constexpr Duration kShortestPoll =
    std::chrono::microseconds{5};            // or is looking whether something has ended.
constexpr std::size_t kMostStretches = 256;  // An operation that is open for longer hardly takes the core.

}  // namespace

LiveService::LiveService(Setup setup)
    : setup_{std::move(setup)},
      heap_{setup_.arena, setup_.world},
      wakefulness_{setup_.cluster},
      collectives_{{.engine = setup_.engine,
                    .network = setup_.network,
                    .router = setup_.router,
                    .cluster = setup_.cluster,
                    .arena = setup_.arena,
                    .heap = heap_,
                    .listener = *this,
                    .wakefulness = wakefulness_,
                    .algorithm = setup_.algorithm,
                    .fallback = setup_.fallback,
                    .catalog = setup_.catalog}},
      messages_{setup_.engine, setup_.network, setup_.router, setup_.cluster,
                setup_.arena,  *this,          wakefulness_},
      stores_{[this](std::uint32_t rank, const KeyStores::Parts& reply) {
        auto& request = setup_.arena.get<StoreRequest>(ranks_[rank].store_request);
        std::size_t bytes = sizeof(std::uint64_t);
        for (const std::string& part : reply) bytes += part_bytes(part.size());
        auto* const memory = static_cast<std::byte*>(heap_.allocate(bytes, sizeof(std::uint64_t)));
        *reinterpret_cast<std::uint64_t*>(memory) = reply.size();
        PartWriter writer{memory + sizeof(std::uint64_t)};
        for (const std::string& part : reply) writer.add(part);
        request.reply = setup_.arena.offset_of(memory);
        answer(rank, 0);
      }},
      ranks_(setup_.world) {
  for (std::uint32_t rank = 0; rank < setup_.world; ++rank) {
    if (engine::Observer* observer = setup_.engine.observer(); observer != nullptr) {
      static_cast<void>(observer->track("ranks", rank_name(rank)));  // In order, whoever comes first.
    }
    ranks_[rank].origin = setup_.engine.add_origin(fmt::format("posts of rank {}", rank));
    slow(rank, 1.0);
  }
}

LiveService::~LiveService() = default;

orrery_op& LiveService::operation(std::int64_t offset, std::uint32_t rank) const {
  // The program owns this memory: a wild pointer of its must not become one of ours.
  if (!setup_.arena.holds(offset, sizeof(orrery_op)) ||
      static_cast<std::uint64_t>(offset) / kArenaPart != rank) {
    throw SimulationError{
        fmt::format("{} wrote nonsense into the memory it shares with us", rank_name(rank))};
  }
  return setup_.arena.get<orrery_op>(offset);
}

void LiveService::schedule(Time at, Event event, std::uint64_t payload, std::uint32_t rank) {
  // Posts come before the request they came with.
  const engine::Phase phase = event == Event::kPost ? engine::Phase::kDelivery : engine::Phase::kWake;
  setup_.engine.schedule(at, phase, ranks_[rank].origin, *this, payload_of(event, payload));
}

void LiveService::announce(engine::ProcessId process, const engine::Call& call) {
  const std::uint32_t rank = process.value();
  for (std::int64_t offset = call.arguments[0]; offset != 0;) {
    const orrery_op& op = operation(offset, rank);
    const std::uint64_t number = next_post_++;
    posts_.emplace(number, Post{rank, offset});
    schedule(Time{Duration{op.posted_ps}}, Event::kPost, number, rank);
    if (op.on_device != 0) ranks_[rank].ahead.insert(op.handle);
    offset = op.next;
  }
}

void LiveService::on_event(std::uint64_t payload) {
  const auto event = static_cast<Event>(payload & ((1U << kEventBits) - 1));
  const std::uint64_t value = payload >> kEventBits;
  switch (event) {
    case Event::kPost:
    case Event::kOperationTimeout: {
      const auto found = posts_.find(value);
      const Post what = found->second;
      posts_.erase(found);
      if (ranks_[what.rank].waits == Waits::kOver) return;  // It crashed.
      if (event == Event::kOperationTimeout) return time_out_operation(what.rank, what.offset);
      if (!comes_later(what)) post(what.rank, what.offset);
      return;
    }
    case Event::kRequest: {
      const auto rank = static_cast<std::uint32_t>(value);
      if (ranks_[rank].waits != Waits::kOver && !comes_later(rank)) serve(rank, ranks_[rank].request);
      return;
    }
    case Event::kDeadline:
      return meet_deadline(static_cast<std::uint32_t>(value));
    case Event::kWake: {
      const auto rank = static_cast<std::uint32_t>(value);
      if (ranks_[rank].waits == Waits::kSleep) answer(rank, 0);
      return;
    }
    case Event::kTimeout: {
      const auto rank = static_cast<std::uint32_t>(value % kMostRanks);
      Rank& waiter = ranks_[rank];
      if (waiter.turn != value / kMostRanks) return;
      if (waiter.waits == Waits::kStore) stores_.withdraw(rank);
      if (waiter.waits == Waits::kPoll) return answer(rank, 0);
      if (waiter.waits == Waits::kStore || waiter.waits == Waits::kOperation) answer(rank, kTimedOut);
      return;
    }
  }
}

void LiveService::post(std::uint32_t rank, std::int64_t offset) {
  orrery_op& op = operation(offset, rank);
  if (op.kind == ORRERY_NEW_GROUP) return new_group(op);
  if (op.kind == ORRERY_END_GROUP) return ArenaHeap::release(&op);
  if (op.kind == ORRERY_MARK) {
    end_warmup(rank, Duration{static_cast<std::int64_t>(op.sequence)});
    return ArenaHeap::release(&op);
  }
  if (op.kind == ORRERY_AWAITED) {
    if (setup_.capture != nullptr) setup_.capture->on_awaited(rank, op.sequence);
    return ArenaHeap::release(&op);
  }
  Group& group = group_of(rank, op);
  if (stands_in_line(rank, offset)) return;
  Rank& poster = ranks_[rank];
  poster.ahead.erase(op.handle);
  if (setup_.capture != nullptr) setup_.capture->on_post(rank, op, group, setup_.engine.now());
  ++poster.times.operations;
  poster.times.bytes += op.payload_bytes;
  poster.open.emplace(op.handle, offset);
  if (may_time_out(op)) {
    limit_operation(rank, offset);
  } else if (op.timeout_ps > 0) {
    set_deadline(rank, due_of(op));
  }
  switch (op.kind) {
    case ORRERY_SEND:
      return messages_.send(group, rank, op);
    case ORRERY_RECEIVE:
      return messages_.receive(group, rank, op);
    default:
      return collectives_.arrive(group, rank, op);
  }
}

void LiveService::end_warmup(std::uint32_t rank, Duration touched) {
  Rank& marked = ranks_[rank];
  if (marked.warmup.begin != Time{}) return;
  marked.warmup = marked.times;
  marked.warmup.begin = setup_.engine.now();
  if (setup_.on_warm) setup_.on_warm(setup_.engine.now());
  // A rank that runs is charged at its next request.
  if (marked.waits != Waits::kNothing) return;
  const Duration ran = setup_.engine.now() - marked.resumed;
  const Duration touching = std::clamp(touched, Duration{}, ran);
  marked.warmup.compute += ran - touching;
  marked.warmup.communication += touching;
}

RankTimes LiveService::times(std::uint32_t rank) const {
  RankTimes times = ranks_[rank].times;
  const RankTimes& before = ranks_[rank].warmup;
  times.begin = before.begin;
  times.compute -= before.compute;
  times.communication -= before.communication;
  times.waiting -= before.waiting;
  times.sleeping -= before.sleeping;
  times.bytes -= before.bytes;
  times.operations -= before.operations;
  return times;
}

void LiveService::new_group(orrery_op& op) {
  std::unique_ptr<Group>& group = groups_[op.group];
  if (!group) {
    group = std::make_unique<Group>();
    group->name = op.name;
    const auto count = static_cast<std::size_t>(op.payload_bytes) / sizeof(std::int32_t);
    const auto* const ranks = reinterpret_cast<const std::int32_t*>(
        reinterpret_cast<const std::byte*>(&op + 1) + op.size_count * sizeof(std::int64_t));
    for (std::size_t i = 0; i < count; ++i) {
      const auto rank = static_cast<std::uint32_t>(ranks[i]);
      if (rank >= setup_.world) {
        throw SimulationError{fmt::format("group '{}' has rank {}, but the world has {} ranks", op.name,
                                          ranks[i], setup_.world)};
      }
      group->member_of.emplace(rank, static_cast<std::uint32_t>(i));
      group->ranks.push_back(rank);
      group->nodes.push_back(setup_.cluster.ranks[rank]);
      group->names.push_back(rank_name(rank));
    }
  }
  ArenaHeap::release(&op);
}

Group& LiveService::group_of(std::uint32_t rank, const orrery_op& op) {
  const auto found = groups_.find(op.group);
  if (found == groups_.end() || !found->second->member_of.contains(rank) ||
      op.peer >= static_cast<std::int32_t>(found->second->size())) {
    throw SimulationError{fmt::format("{}: {} in a group that it is no member of", rank_name(rank), op.name)};
  }
  return *found->second;
}

void LiveService::handle(engine::ProcessId process, const engine::Call& call) {
  const std::uint32_t rank = process.value();
  ranks_[rank].request = call;
  ranks_[rank].requested = setup_.engine.now();
  if (!comes_later(rank)) serve(rank, call);
}

void LiveService::serve(std::uint32_t rank, const engine::Call& call) {
  Rank& asker = ranks_[rank];
  const Time now = setup_.engine.now();
  const bool is_poll = static_cast<Request>(call.operation) == Request::kTest;
  if (!asker.open.empty() && now - asker.resumed > (is_poll ? kShortestPoll : kShortestStretch)) {
    if (asker.stretches.size() == kMostStretches) asker.stretches.pop_front();
    asker.stretches.push_back({asker.resumed, now});
  }
  ++asker.turn;
  if (!is_poll) asker.polls_since = kTimeMax;
  asker.asked = now;
  const Duration touched = std::clamp(Duration{call.arguments[3]}, Duration{}, now - asker.resumed);
  asker.times.compute += now - asker.resumed - touched;
  asker.times.communication += touched;
  if (setup_.capture != nullptr) setup_.capture->on_request(rank, now);
  if (engine::Observer* observer = setup_.engine.observer(); observer != nullptr) {
    const auto span = [&](const char* name, Time begin, Time end) {
      if (end > begin) observer->span(observer->track("ranks", rank_name(rank)), name, begin, end, "");
    };
    span("first touches", asker.resumed, asker.resumed + touched);
    span("compute", asker.resumed + touched, now);
  }
  switch (static_cast<Request>(call.operation)) {
    case Request::kFlush:
      return answer(rank, 0);
    case Request::kWait:
      return wait(rank, call.arguments[2]);
    case Request::kTest:
      return poll(rank, static_cast<std::uint64_t>(call.arguments[2]));
    case Request::kSleep:
      asker.waits = Waits::kSleep;
      return schedule(saturating_add(now, Duration{std::max<std::int64_t>(0, call.arguments[2])}),
                      Event::kWake, rank, rank);
    case Request::kStore:
      return ask_store(rank, call.arguments[2]);
    case Request::kExit:
      return exit(rank, call.arguments[2]);
    case Request::kAbort:
      throw SimulationError{
          fmt::format("{}: {}", rank_name(rank), &setup_.arena.get<const char>(call.arguments[2]))};
  }
  throw SimulationError{fmt::format("{} asks for something unknown ({})", rank_name(rank), call.operation)};
}

void LiveService::wait(std::uint32_t rank, std::int64_t offset) {
  Rank& waiter = ranks_[rank];
  if (!setup_.arena.holds(offset, sizeof(WaitSet))) {
    throw SimulationError{
        fmt::format("{} wrote nonsense into the memory it shares with us", rank_name(rank))};
  }
  const auto& set = setup_.arena.get<WaitSet>(offset);
  waiter.handles.assign(set.handles, set.handles + set.count);
  waiter.waits = Waits::kOperation;
  if (const std::int64_t index = first_ended(waiter); index >= 0) return answer(rank, index);
  if (set.timeout_ps > 0) limit_wait(rank, saturating_add(setup_.engine.now(), Duration{set.timeout_ps}));
}

/// A program that does nothing but poll would have to be woken millions of times for a second. It gets its answer when
/// something of its has ended, else after a hundredth of the time for which it has polled already.
void LiveService::poll(std::uint32_t rank, std::uint64_t handle) {
  constexpr Duration kSpin =
      std::chrono::microseconds{20};  // Whoever polls less often does something in between.
  constexpr Duration kShortest = std::chrono::microseconds{1};
  Rank& asker = ranks_[rank];
  const Time now = setup_.engine.now();
  asker.handles.assign(1, handle);
  if (first_ended(asker) >= 0) {
    asker.waits = Waits::kPoll;
    return answer(rank, 1);
  }
  const Duration computed = now - asker.resumed;
  if (asker.polls_since > now || computed > kSpin) asker.polls_since = now;
  const Duration pause = std::max(kShortest, (now - asker.polls_since) / 100) - computed;
  if (pause <= Duration{}) return answer(rank, 0);
  asker.waits = Waits::kPoll;
  limit_wait(rank, saturating_add(now, pause));
}

void LiveService::ask_store(std::uint32_t rank, std::int64_t offset) {
  Rank& asker = ranks_[rank];
  if (!setup_.arena.holds(offset, sizeof(StoreRequest))) return answer(rank, kFailed);
  const auto& request = setup_.arena.get<StoreRequest>(offset);
  asker.waits = Waits::kStore;
  asker.store_request = offset;
  KeyStores::Parts parts;
  PartReader reader{reinterpret_cast<const std::byte*>(&request + 1), request.bytes};
  for (std::uint32_t i = 0; i < request.parts; ++i) parts.emplace_back(reader.next());
  const std::uint64_t turn = asker.turn;
  const std::int64_t timeout = request.timeout_ps;
  if (!stores_.ask(rank, request.operation, parts)) return answer(rank, kFailed);
  if (timeout > 0 && asker.waits == Waits::kStore && asker.turn == turn) {
    limit_wait(rank, saturating_add(setup_.engine.now(), Duration{timeout}));
  }
}

void LiveService::exit(std::uint32_t rank, std::int64_t status) {
  ranks_[rank].times.status = status;
  if (!std::exchange(has_exited_, true) && setup_.on_first_exit) setup_.on_first_exit();
  if (status != 0 && !setup_.is_faulty) {
    answer(rank, 0);  // It leaves, with the status it wants.
    host_->let_go();
    if (setup_.on_failure) setup_.on_failure();
    throw SimulationError{fmt::format("{} ended with exit status {} at {}", rank_name(rank), status,
                                      orrery::to_text(setup_.engine.now().time_since_epoch()))};
  }
  answer(rank, 0);
}

void LiveService::finished(engine::ProcessId process) {
  Rank& rank = ranks_[process.index()];
  rank.times.finish = setup_.engine.now();
  end(rank);
}

std::int64_t LiveService::first_ended(const Rank& rank) const {
  std::int64_t first = -1;
  for (std::size_t i = 0; i < rank.handles.size(); ++i) {
    const std::uint64_t handle = rank.handles[i];
    if (rank.ahead.contains(handle)) continue;
    // Neither open nor freshly ended: the program was told before.
    if (!rank.open.contains(handle) && !rank.ended.contains(handle)) return static_cast<std::int64_t>(i);
  }
  // Oldest ending first: `endings` is in order of time.
  for (const Ending& ending : rank.endings) {
    const std::uint64_t handle = setup_.arena.get<orrery_op>(ending.operation).handle;
    const auto found = std::ranges::find(rank.handles, handle);
    if (found != rank.handles.end()) return found - rank.handles.begin();
  }
  return first;
}

std::string LiveService::awaited_name(const Rank& rank, std::int64_t index) const {
  if (index < 0) return "timed out";
  for (const Ending& ending : rank.endings) {
    const auto& op = setup_.arena.get<orrery_op>(ending.operation);
    if (op.handle == rank.handles[static_cast<std::size_t>(index)]) return fmt::format("in {}", op.name);
  }
  return "wait";
}

void LiveService::answer(std::uint32_t rank, std::int64_t value) {
  Rank& asker = ranks_[rank];
  const Time now = setup_.engine.now();
  const Duration blocked = now - asker.asked;
  if (asker.waits == Waits::kSleep) {
    asker.times.sleeping += blocked;
    if (engine::Observer* observer = setup_.engine.observer(); observer != nullptr && blocked > Duration{}) {
      observer->span(observer->track("ranks", rank_name(rank)), "asleep", asker.asked, now, "");
    }
  } else if (asker.waits == Waits::kStore || asker.waits == Waits::kPoll) {
    const Duration hidden = std::min(asker.hidden, now - std::min(asker.polls_since, asker.asked));
    asker.times.compute += hidden;
    asker.times.waiting += blocked - hidden;
  } else if (asker.waits == Waits::kOperation) {
    // Until all parties were there it waited; then it communicated.
    Time began = now;
    Time posted = asker.asked;
    if (value >= 0) {
      const std::uint64_t handle = asker.handles[static_cast<std::size_t>(value)];
      const auto found = asker.ended.find(handle);
      if (found != asker.ended.end()) began = std::clamp(found->second, asker.asked, now);
      posted = std::clamp(posted_at(asker, handle), asker.asked, began);
    }
    asker.times.compute += posted - asker.asked;  // Of a device that had not come to it yet.
    asker.times.waiting += began - posted;
    const Duration hidden = std::min(asker.hidden, now - began);
    asker.times.compute += hidden;
    asker.times.communication += now - began - hidden;
    if (engine::Observer* observer = setup_.engine.observer(); observer != nullptr && blocked > Duration{}) {
      observer->span(observer->track("ranks", rank_name(rank)), awaited_name(asker, value), asker.asked, now,
                     "");
    }
  }
  if (setup_.capture != nullptr) capture_answer(rank, value);
  // Only now does the program see what has ended: it must not depend on how fast it looks.
  for (const Ending& ending : asker.endings) {
    orrery_op& op = setup_.arena.get<orrery_op>(ending.operation);
    op.table = ending.table;
    op.match = ending.match;
    op.source = ending.source;
    op.failed = ending.reason.empty() ? 0 : 1;
    ending.reason.copy(op.reason, sizeof op.reason - 1);
    if (op.done_ps < 0) op.done_ps = count_ps(now);
  }
  asker.endings.clear();
  asker.ended.clear();
  asker.waits = Waits::kNothing;
  end_limit(asker);
  asker.resumed = now;
  asker.stolen = std::exchange(asker.owed, {});
  asker.hidden = {};
  if (asker.open.empty()) asker.stretches.clear();
  if (std::exchange(asker.ends_warmup, false)) end_warmup(rank);
  host_->answer(engine::ProcessId{rank}, value);
}

void LiveService::on_ended(std::uint32_t rank, Ending ending) {
  Rank& owner = ranks_[rank];
  if (setup_.capture != nullptr) capture_end(rank, ending);
  orrery_op& op = setup_.arena.get<orrery_op>(ending.operation);
  if (owner.waits == Waits::kOver) return;
  op.ended_ps = count_ps(setup_.engine.now());
  if (ending.reason.empty()) steal(rank, op, ending);
  if (owner.open.erase(op.handle) > 0 && may_time_out(op)) end_operation_limit(owner);
  if (op.on_device != 0) next_in_line(rank, op);
  const bool is_barrier = op.kind == ORRERY_BARRIER && groups_.at(op.group)->size() == setup_.world;
  if (is_barrier && ++owner.barriers == setup_.warmup_barriers) owner.ends_warmup = true;
  if (setup_.record) {
    const Group& group = *groups_.at(op.group);
    OperationRecord record;
    record.rank = rank;
    record.name = op.name;
    record.group = group.name;
    record.sequence = op.sequence;
    const std::int32_t peer = op.kind == ORRERY_RECEIVE ? ending.source : op.peer;
    if (peer >= 0) record.peer = static_cast<std::int32_t>(group.ranks[static_cast<std::size_t>(peer)]);
    record.bytes = total_bytes(op);
    record.posted = Time{Duration{op.posted_ps}};
    record.began = std::max(ending.began, record.posted);
    record.done = setup_.engine.now();
    record.has_failed = !ending.reason.empty();
    record.where = op.where;
    setup_.record(record);
  }
  owner.ended.emplace(op.handle, ending.began);
  owner.endings.push_back(std::move(ending));
  if (owner.waits != Waits::kOperation && owner.waits != Waits::kPoll) return;
  const auto found = std::ranges::find(owner.handles, op.handle);
  if (owner.waits == Waits::kPoll) return answer(rank, found == owner.handles.end() ? 0 : 1);
  if (found != owner.handles.end()) answer(rank, found - owner.handles.begin());
}

void LiveService::crash(std::uint32_t rank) {
  Rank& gone = ranks_[rank];
  if (gone.waits == Waits::kOver) return;
  end(gone);
  gone.times.has_crashed = true;
  gone.times.finish = setup_.engine.now();
  stores_.withdraw(rank);
  collectives_.withdraw(rank);
  messages_.withdraw(rank);
  host_->drop(engine::ProcessId{rank});
  if (setup_.on_crash) setup_.on_crash(rank);
}

void LiveService::slow(std::uint32_t rank, double factor) {
  const topology::DeviceSpec& device = setup_.cluster.devices[setup_.cluster.device_of_rank[rank]];
  const double scale = (setup_.is_device_time ? 1 : device.compute_scale) * factor;
  setup_.arena.page(rank).compute_scale_bits.store(std::bit_cast<std::uint64_t>(scale));
}

}  // namespace orrery::live
