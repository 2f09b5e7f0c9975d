// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/live_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "orrery/app/dataflow_notes.hpp"
#include "orrery/app/live_capture.hpp"
#include "orrery/app/live_device.hpp"
#include "orrery/app/live_device_map.hpp"
#include "orrery/app/live_plan.hpp"
#include "orrery/app/live_records.hpp"
#include "orrery/app/operation_totals.hpp"
#include "orrery/app/simulation.hpp"
#include "orrery/live/children.hpp"
#include "orrery/live/cores.hpp"
#include "orrery/live/device_images.hpp"
#include "orrery/live/duration_table.hpp"
#include "orrery/live/gathering.hpp"
#include "orrery/live/ledger_files.hpp"
#include "orrery/live/process_memory.hpp"
#include "orrery/live/service.hpp"
#include "orrery/live/tagged_output.hpp"
#include "orrery/version.hpp"

namespace orrery::app {
namespace {

using SteadyClock = std::chrono::steady_clock;
using live::ChildEvent;
using live::Gathering;

constexpr auto kGrace = std::chrono::seconds{10};     // For programs that have ended, to leave.
constexpr auto kLastWords = std::chrono::seconds{3};  // For a program one of whose ranks has failed.
constexpr auto kProgressPause = std::chrono::milliseconds{200};
constexpr auto kProgressFirst = std::chrono::seconds{1};

/// The processes of the run, from their start to the last one's end.
class Programs : Pinned {
 public:
  Programs(const LiveOptions& options, const LivePlan& plan) : options_{options} {
    const int output = options.output_to_stderr ? STDERR_FILENO : STDOUT_FILENO;
    std::vector<int> inherited;
    if (options.tags_output) {
      tagged_ = std::make_unique<live::TaggedOutput>(static_cast<std::size_t>(*options.launch.ranks), output,
                                                     STDERR_FILENO);
      inherited = tagged_->descriptors();
    }
    live::LaunchOptions how = options.launch;
    how.warmup = options.warmup;
    if (options.follows_data) how.dataflow = notes_.emplace().folder();
    const std::size_t ranks = plan.cluster.ranks.size();
    how.device_map =
        device_map_text(options, plan.cluster,
                        options.launch.ranks ? static_cast<std::size_t>(*options.launch.ranks) : ranks);
    const live::Launch launch =
        plan_launch(how, gathering_.address(), gathering_.launcher_descriptor(), inherited);
    inherited.push_back(gathering_.launcher_descriptor());
    root_ = children_.start(launch.words, launch.environment, inherited, output);
    if (tagged_) tagged_->start();
    std::optional<int> world;
    if (options.launch.ranks) world = static_cast<int>(*options.launch.ranks);
    members_ = gathering_.wait({.world = world,
                                .most = static_cast<int>(plan.cluster.ranks.size()),
                                .cluster = plan.cluster.name,
                                .root = root_,
                                .wants_stop = options.wants_stop,
                                .say = options.say});
    if (options.launch.ranks) return;
    for (const Gathering::Member& member : members_) {
      children_.watch(member.process);  // Children of the program.
    }
  }

  /// 0: the program never joined.
  [[nodiscard]] std::size_t world() const { return members_.size(); }
  /// Of the program that never joined.
  [[nodiscard]] int status() const {
    const ChildEvent end = gathering_.root_end().value_or(ChildEvent{});
    constexpr int kSignalled = 128;
    return end.was_killed ? kSignalled + end.status : end.status;
  }
  [[nodiscard]] bool was_killed() const { return gathering_.root_end().value_or(ChildEvent{}).was_killed; }
  [[nodiscard]] std::string end_text() const {
    return live::to_text(gathering_.root_end().value_or(ChildEvent{}));
  }
  [[nodiscard]] std::vector<std::int64_t> memory() const {
    std::vector<std::int64_t> bytes;
    for (const Gathering::Member& member : members_) {
      bytes.push_back(live::peak_memory(member.process));
    }
    return bytes;
  }
  /// Null unless they were asked for.
  [[nodiscard]] const DataflowNotes* notes() const { return notes_ ? &*notes_ : nullptr; }
  void kill(std::uint32_t rank) const { ::kill(members_[rank].process, SIGKILL); }

  /// From now on the host hears of ranks that die; lets them go on.
  void connect(engine::ProcessHost& host, const std::function<live::JoinReply(std::size_t)>& reply_for) {
    {
      const std::scoped_lock lock{mutex_};
      host_ = &host;
      is_connected_ = true;
      for (const ChildEvent& event : gathering_.take_events()) report(event);
    }
    for (Gathering::Member& member : members_) {
      Gathering::reply(member, reply_for(static_cast<std::size_t>(member.rank)));
    }
  }
  void disconnect() {
    const std::scoped_lock lock{mutex_};
    host_ = nullptr;
  }
  void end() {
    disconnect();
    children_.kill_all();
  }
  /// True when all left by themselves. SimulationError when the program that started the ranks then failed.
  bool finish() {
    disconnect();
    const bool is_clean = children_.finish(kGrace);
    if (is_clean && root_end_ && is_bad(*root_end_)) {
      throw SimulationError{
          fmt::format("the program {} after its ranks had finished", live::to_text(*root_end_))};
    }
    return is_clean;
  }
  /// A rank has failed. The program that started it may want to say why, and end by itself.
  void let_root_end() {
    if (options_.launch.ranks) return;
    std::unique_lock lock{mutex_};
    root_has_ended_.wait_for(lock, kLastWords, [this] { return root_end_.has_value(); });
  }

 private:
  static bool is_bad(const ChildEvent& event) {
    return event.has_stopped || event.was_killed || event.status != 0;
  }

  void tell(const ChildEvent& event) {
    const std::scoped_lock lock{mutex_};
    if (!is_connected_) return gathering_.tell(event);
    report(event);
  }
  /// With the lock.
  void report(const ChildEvent& event) {
    const int rank = gathering_.rank_of(event.process);
    const bool is_starter = event.process == root_ && rank < 0 && !options_.launch.ranks;
    if (is_starter && !event.has_stopped) {
      root_end_ = event;
      root_has_ended_.notify_all();
    }
    if (host_ == nullptr) return;
    if (rank >= 0) return mark_dead(rank, live::to_text(event));
    if (!is_starter || !is_bad(event)) return;
    for (const Gathering::Member& member : members_) {
      mark_dead(member.rank, "the program that started the ranks " + live::to_text(event));
    }
  }
  void mark_dead(int rank, std::string reason) {
    host_->mark_dead(engine::ProcessId{static_cast<std::uint32_t>(rank)}, std::move(reason));
  }

  const LiveOptions& options_;
  std::optional<DataflowNotes> notes_;
  Gathering gathering_;
  std::mutex mutex_;  // Of what follows: children are watched by a thread of their own.
  engine::ProcessHost* host_ = nullptr;
  bool is_connected_ = false;           // From the moment when all ranks are there.
  std::optional<ChildEvent> root_end_;  // Of a program that starts its ranks itself.
  std::condition_variable root_has_ended_;
  std::unique_ptr<live::TaggedOutput> tagged_;
  live::Children children_{[this](const ChildEvent& event) { tell(event); }};
  pid_t root_ = 0;
  std::vector<Gathering::Member> members_;
};

/// The simulation that the programs run in.
class LiveRun : Pinned {
 public:
  LiveRun(const LiveOptions& options, LivePlan plan, Programs& programs, SteadyClock::time_point began)
      : options_{options},
        plan_{std::move(plan)},
        programs_{programs},
        world_{static_cast<std::uint32_t>(programs.world())},
        next_progress_{began + kProgressFirst},
        records_{options, world_},
        simulation_{{.cluster = plan_.cluster,
                     .router = router_,
                     .network = plan_.network,
                     .seed = options.seed,
                     .observer = records_.observer(),
                     .wants_stop = &wants_stop_}},
        service_{service_setup()},
        host_{simulation_.engine(),
              service_,
              {.externals = world_,
               .concurrency = static_cast<std::uint32_t>(options.jobs),
               .may_drop = !options.faults.empty()}},
        faults_{simulation_.engine(), plan_.faults.ranks, world_, service_} {
    service_.attach(host_);
    for (std::uint32_t rank = 0; rank < world_; ++rank) host_.add_external(fmt::format("rank {}", rank));
    for (std::size_t rank = 0; rank < world_; ++rank) {
      if (plan_.compute.mode == live::MeterMode::kLedger) {
        ledgers_.provide(plan_.compute.ledger, rank, world_);
      }
      if (!options.output.empty()) ledgers_.record();
    }
    for (const device::CostModel& model : plan_.models) devices_.add(model);
  }

  void run() {
    const std::vector<int> cores = live::choose_cores(options_.jobs);
    programs_.connect(host_, [&](std::size_t rank) { return reply_for(rank, cores); });
    try {
      const live::SameCore same_core{cores};
      const live::AwakeCores awake{plan_.compute.is_raw};
      host_.run();
    } catch (...) {
      programs_.end();
      throw;
    }
  }

  /// After run(), and after the programs have left. Writes the records.
  void report(LiveResult& result) {
    Time begin{};
    for (std::uint32_t rank = 0; rank < world_; ++rank) {
      LiveRank& one = result.ranks.emplace_back();
      one.times = service_.times(rank);
      one.device = rank_device(rank).name;
      one.node = plan_.cluster.graph.name(plan_.cluster.ranks[rank]);
      if (!options_.device_map.empty()) read_device_memory(arena_.page(rank), rank_device(rank), one);
      one.memory_bytes = rank < memory_.size() ? memory_[rank] : 0;
      result.memory_bytes += one.memory_bytes;
      begin = std::max(begin, one.times.begin);
      if (one.times.finish != kTimeMax) {
        result.total_ps = std::max(result.total_ps, count_ps(one.times.finish));
      }
    }
    if (!options_.warmup.empty()) note_endless_warmup(result);
    result.begin_ps = count_ps(begin);
    result.total_ps -= std::min(result.total_ps, result.begin_ps);
    result.operations = totals_.sorted();
    result.wire_bytes = service_.wire_bytes();
    for (const std::string& note : simulation_.network().notes()) result.notes.push_back(note);
    for (std::string& note : device_notes(arena_, world_)) result.notes.push_back(std::move(note));
    timeline::Manifest& manifest = result.manifest;
    manifest.version = kVersion;
    manifest.commit = commit();
    manifest.seed = options_.seed;
    manifest.digest = simulation_.engine().digest();
    manifest.configuration = describe_plan(plan_, options_, world_);
    manifest.command = options_.command;
    if (capture_) capture_->write(options_.capture, programs_.notes());
    records_.write(result, ledgers_);
  }

 private:
  [[nodiscard]] const topology::DeviceSpec& rank_device(std::uint32_t rank) const {
    return plan_.cluster.devices[plan_.cluster.device_of_rank[rank]];
  }

  live::LiveService::Setup service_setup() {
    return {.engine = simulation_.engine(),
            .network = simulation_.network(),
            .router = router_,
            .cluster = plan_.cluster,
            .arena = arena_,
            .world = world_,
            .algorithm = plan_.algorithm,
            .fallback = plan_.fallback,
            .catalog = plan_.catalog,
            .is_faulty = !options_.faults.empty(),
            .is_device_time = plan_.is_device_time,
            .warmup_barriers = plan_.warmup_barriers,
            .on_first_exit = [this] { memory_ = programs_.memory(); },
            .on_warm = [this](Time now) { totals_.restart(now); },
            .on_crash = [this](std::uint32_t rank) { programs_.kill(rank); },
            .on_failure = [this] { programs_.let_root_end(); },
            .record =
                [this](const live::OperationRecord& record) {
                  totals_.add(record);
                  records_.add(record);
                },
            .capture = capture_.get()};
  }

  live::JoinReply reply_for(std::size_t rank, const std::vector<int>& cores) {
    live::JoinReply reply;
    reply.is_accepted = 1;
    reply.slot = host_.slot(engine::ProcessId{static_cast<std::uint32_t>(rank)});
    reply.region = host_.region().descriptor();
    reply.arena = arena_.descriptor();
    reply.core = cores.empty() ? -1 : cores[rank % cores.size()];
    reply.is_core_shared = cores.size() == 1 ? 1 : 0;
    reply.is_captured = capture_ ? 1 : 0;
    reply.is_gloo = plan_.algorithm == "gloo" ? 1 : 0;
    reply.compute = static_cast<std::uint32_t>(plan_.compute.mode);
    reply.is_raw = plan_.compute.is_raw ? 1 : 0;
    reply.program = program_;
    reply.fixed_ps = count_ps(plan_.compute.fixed);
    if (plan_.compute.mode == live::MeterMode::kMeasured) reply.table = table_.descriptor();
    if (!devices_.empty()) reply.device = devices_.descriptor(plan_.cluster.device_of_rank[rank]);
    reply.ledger_in = ledgers_.in(rank);
    reply.ledger_out = ledgers_.out(rank);
    return reply;
  }

  void show_progress() {
    const auto now = SteadyClock::now();
    if (now < next_progress_) return;
    next_progress_ = now + kProgressPause;
    LiveProgress progress{.now = simulation_.engine().now(), .ranks = world_};
    for (std::uint32_t rank = 0; rank < world_; ++rank) {
      const std::string_view state = service_.state(rank);
      progress.computing += state == "computing" ? 1U : 0U;
      progress.communicating += state == "communicating" ? 1U : 0U;
      progress.done += state == "done" ? 1U : 0U;
    }
    options_.progress(progress);
  }

  const LiveOptions& options_;
  LivePlan plan_;
  Programs& programs_;
  std::uint32_t world_;
  SteadyClock::time_point next_progress_;
  OperationTotals totals_;
  LiveRecords records_;
  std::unique_ptr<LiveCapture> capture_ =
      options_.capture.empty() ? nullptr : std::make_unique<LiveCapture>(plan_.cluster, world_);
  live::LedgerFiles ledgers_;
  live::DurationTable table_;
  std::uint64_t program_ = live::program_digest(options_.launch.program);
  live::DeviceImages devices_;
  std::vector<std::int64_t> memory_;  // Of each rank at its peak, seen when the first one was through.
  /// Asked at every wait for a program: also the moment to show how it goes.
  std::function<bool()> wants_stop_ = [this] {
    if (options_.progress) show_progress();
    return options_.wants_stop && options_.wants_stop();
  };
  topology::Router router_{plan_.cluster.graph};
  Simulation simulation_;
  live::Arena arena_ = live::Arena::create(world_ + 1);
  live::LiveService service_;
  engine::ProcessHost host_;
  live::FaultClock faults_;
};

}  // namespace

LiveResult run_live(const LiveOptions& options) {
  const auto began = SteadyClock::now();
  LivePlan plan = plan_live(options);
  LiveResult result;
  result.cluster = plan.cluster.name;
  result.network = plan.network.name;
  result.algorithm = plan.algorithm;
  result.compute = options.compute;
  Programs programs{options, plan};
  if (programs.world() == 0) {
    result.has_joined = false;
    result.program_status = programs.status();
    result.program_was_killed = programs.was_killed();
    result.program_end = programs.end_text();
    return result;
  }
  LiveRun run{options, std::move(plan), programs, began};
  run.run();
  if (!programs.finish()) {
    result.notes.emplace_back("some processes of the program did not leave by themselves and were ended");
  }
  run.report(result);
  result.wall_seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
  return result;
}

}  // namespace orrery::app
