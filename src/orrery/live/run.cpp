// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <numeric>

#include "orrery/app/cluster_digest.hpp"
#include "orrery/app/cluster_report.hpp"
#include "orrery/app/simulation.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"
#include "orrery/live/children.hpp"
#include "orrery/live/compute_choice.hpp"
#include "orrery/live/faults.hpp"
#include "orrery/live/gathering.hpp"
#include "orrery/live/launch.hpp"
#include "orrery/live/run_records.hpp"
#include "orrery/live/service.hpp"
#include "orrery/live/tagged_output.hpp"
#include "orrery/topology/catalog.hpp"
#include "orrery/topology/load_cluster.hpp"
#include "orrery/version.hpp"

namespace orrery::live {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::int64_t kMostJobs = 1024;
constexpr auto kGrace = std::chrono::seconds{10};  // For programs that have ended, to leave.

[[noreturn]] void refuse(const RunOptions& options, const char* option, const std::string& value,
                         const std::string& expected) {
  throw InputError{{.source = options.option_prefix + option,
                    .position = {},
                    .field = {},
                    .value = value,
                    .expected = expected,
                    .nearest = {}}};
}

/// Everything that is known before a process is started. All input errors come from here.
struct Plan {
  topology::Cluster cluster;
  app::NetworkChoice network;
  ComputeChoice compute;
  std::string catalog;
  std::string algorithm;
  std::string fallback;
  Faults faults;
};

Plan plan_run(const RunOptions& options) {
  Plan plan;
  if (options.cluster.empty()) refuse(options, "cluster", {}, "expected a file, a preset or a generator");
  plan.network = app::choose_network(options.network, network::builtin_networks(), options.option_prefix + "network");
  plan.compute = parse_compute(options.compute, options.option_prefix + "compute");
  if (options.jobs < 1 || options.jobs > kMostJobs) {
    refuse(options, "jobs", fmt::format("{}", options.jobs), fmt::format("expected 1 to {}", kMostJobs));
  }
  topology::LoadOptions load;
  load.source = options.option_prefix + "cluster";
  load.catalog = options.catalog;
  plan.cluster = topology::load_cluster(options.cluster, load);
  app::check_reachable(plan.cluster, options.cluster);
  const auto available = static_cast<std::int64_t>(plan.cluster.ranks.size());
  if (options.ranks && (*options.ranks < 1 || *options.ranks > available)) {
    refuse(options, "ranks", fmt::format("{}", *options.ranks),
           fmt::format("cluster '{}' has {} rank{}; expected 1 to {}", plan.cluster.name, available,
                       available == 1 ? "" : "s", available));
  }
  plan.catalog = options.catalog.empty() ? topology::catalog_directory() : options.catalog;
  plan.fallback = plan.cluster.nccl_platform.empty() ? "gloo" : "nccl";
  plan.algorithm = options.algorithm.empty() ? plan.fallback : options.algorithm;
  if (plan.algorithm != "gloo" && plan.algorithm != "nccl") {
    const collectives::AlgorithmRegistry algorithms = collectives::builtin_algorithms();
    static_cast<void>(algorithms.get(plan.algorithm));  // InputError on unknown names.
  }
  if (!options.faults.empty()) {
    plan.faults = read_faults(options.faults, plan.cluster);
    // Links fail as they change by the cluster's own description.
    std::vector<topology::LinkEvent>& events = plan.cluster.events;
    events.insert(events.end(), plan.faults.links.begin(), plan.faults.links.end());
    std::ranges::stable_sort(events, {}, &topology::LinkEvent::at);
  }
  check_output_folder(options.output);
  return plan;
}

/// Cores that ranks run on: the last ones, as the first often serves interrupts.
std::vector<int> choose_cores(std::int64_t jobs) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::vector<int> cores;
  for (int core = CPU_SETSIZE - 1; core >= 0 && static_cast<std::int64_t>(cores.size()) < jobs; --core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

/// While one lives, we run on the same core as the one rank that runs: handing over costs a fifth of what it costs
/// between cores.
class SameCore : Pinned {
 public:
  explicit SameCore(const std::vector<int>& cores) {
    if (cores.size() != 1 || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cores[0]), &set);
    is_pinned_ = ::sched_setaffinity(0, sizeof set, &set) == 0;
  }
  ~SameCore() {
    if (is_pinned_) ::sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_{};
  bool is_pinned_ = false;
};

/// Anonymous files that ranks open through /proc.
class LedgerFiles : Pinned {
 public:
  ~LedgerFiles() {
    for (const int descriptor : in_) ::close(descriptor);
    for (const int descriptor : out_) ::close(descriptor);
  }
  void provide(std::size_t rank, const std::string& folder) {
    const std::string path = ledger_path(folder, rank);
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) throw InputError{fmt::format("{}: cannot be read: {}", path, std::strerror(errno))};
    // A copy: ranks open it for reading and writing.
    const int copy = ::memfd_create("orrery-ledger", MFD_CLOEXEC);
    const std::string text = read_file(path, std::size_t{1} << 32);
    [[maybe_unused]] const ssize_t written = ::write(copy, text.data(), text.size());
    ::close(descriptor);
    in_.push_back(copy);
  }
  void record() { out_.push_back(::memfd_create("orrery-ledger", MFD_CLOEXEC)); }
  [[nodiscard]] int in(std::size_t rank) const { return rank < in_.size() ? in_[rank] : -1; }
  [[nodiscard]] int out(std::size_t rank) const { return rank < out_.size() ? out_[rank] : -1; }

 private:
  std::vector<int> in_;
  std::vector<int> out_;
};

class Totals {
 public:
  void add(const OperationRecord& record) {
    OperationTotal& total = by_name_[record.name];
    total.name = record.name;
    ++total.calls;
    total.bytes += record.bytes;
    total.time += record.done - record.began;
    total.waiting += record.began - record.posted;
  }
  [[nodiscard]] std::vector<OperationTotal> sorted() const {
    std::vector<OperationTotal> totals;
    for (const auto& [name, total] : by_name_) totals.push_back(total);
    std::ranges::stable_sort(totals, std::greater{}, &OperationTotal::time);
    return totals;
  }

 private:
  std::map<std::string, OperationTotal> by_name_;
};

/// Tells of child processes: before the run to those who gather the ranks, then to the host.
class Switchboard {
 public:
  explicit Switchboard(Gathering& gathering) : gathering_{gathering} {}
  void tell(const ChildEvent& event) {
    const std::scoped_lock lock{mutex_};
    if (host_ == nullptr) return gathering_.tell(event);
    report(event);
  }
  void connect(engine::ProcessHost* host) {
    const std::scoped_lock lock{mutex_};
    host_ = host;
  }

 private:
  void report(const ChildEvent& event) {
    const int rank = gathering_.rank_of(event.process);
    if (rank >= 0) host_->mark_dead(engine::ProcessId{static_cast<std::uint32_t>(rank)}, to_text(event));
  }
  Gathering& gathering_;
  std::mutex mutex_;
  engine::ProcessHost* host_ = nullptr;
};

JoinReply reply_for(std::size_t rank, const Plan& plan, engine::ProcessHost& host,
                    const Arena& arena, const LedgerFiles& ledgers, const std::vector<int>& cores) {
  JoinReply reply;
  reply.is_accepted = 1;
  reply.slot = host.slot(engine::ProcessId{static_cast<std::uint32_t>(rank)});
  reply.region = host.region().descriptor();
  reply.arena = arena.descriptor();
  reply.core = cores.empty() ? -1 : cores[rank % cores.size()];
  reply.compute = static_cast<std::uint32_t>(plan.compute.mode);
  reply.fixed_ps = count_ps(plan.compute.fixed);
  reply.ledger_in = ledgers.in(rank);
  reply.ledger_out = ledgers.out(rank);
  return reply;
}

timeline::Manifest manifest_of(const RunOptions& options, const Plan& plan, std::size_t world, std::uint64_t digest) {
  timeline::Manifest manifest;
  manifest.version = kVersion;
  manifest.commit = commit();
  manifest.seed = options.seed;
  manifest.digest = digest;
  manifest.command = options.command;
  manifest.configuration = {
      {"program", join(options.program, " ")},
      {"cluster", plan.cluster.name},
      {"cluster_digest", fmt::format("{:016x}", app::cluster_digest(plan.cluster))},
      {"ranks", fmt::format("{}", world)},
      {"network", plan.network.resolved},
      {"algorithm", plan.algorithm},
      {"compute", options.compute},
      {"faults", options.faults},
  };
  return manifest;
}

}  // namespace

RunResult run(const RunOptions& options) {
  const auto began = SteadyClock::now();
  Plan plan = plan_run(options);
  Gathering gathering;
  const int output = options.output_to_stderr ? STDERR_FILENO : STDOUT_FILENO;
  std::unique_ptr<TaggedOutput> tagged;
  if (options.tags_output) {
    if (!options.ranks) refuse(options, "tag-output", {}, "needs the number of ranks (-n)");
    tagged = std::make_unique<TaggedOutput>(static_cast<std::size_t>(*options.ranks), output, STDERR_FILENO);
  }
  std::vector<int> inherited = tagged ? tagged->descriptors() : std::vector<int>{};
  const Launch launch =
      plan_launch(options, gathering.address(), gathering.launcher_descriptor(), inherited);
  inherited.push_back(gathering.launcher_descriptor());
  Switchboard switchboard{gathering};
  Children children{[&](const ChildEvent& event) { switchboard.tell(event); }};
  const pid_t root = children.start(launch.words, launch.environment, inherited, output);
  if (tagged) tagged->start();
  std::vector<Gathering::Member> members =
      gathering.wait({.world = options.ranks ? std::optional<int>{static_cast<int>(*options.ranks)} : std::nullopt,
                      .most = static_cast<int>(plan.cluster.ranks.size()),
                      .cluster = plan.cluster.name,
                      .root = root,
                      .wants_stop = options.wants_stop,
                      .say = options.say});
  RunResult result;
  result.cluster = plan.cluster.name;
  result.network = plan.network.name;
  result.algorithm = plan.algorithm;
  result.compute = options.compute;
  if (members.empty()) {
    const ChildEvent end = gathering.root_end().value_or(ChildEvent{});
    result.has_joined = false;
    result.program_status = end.was_killed ? 128 + end.status : end.status;
    return result;
  }

  const std::size_t world = members.size();
  topology::Router router{plan.cluster.graph};
  RunRecords records{options, world};
  // Asked at every wait for a program: also the moment to show how it goes.
  LiveService* shown = nullptr;
  engine::Engine* clock = nullptr;
  auto next_word = began + std::chrono::seconds{1};
  const std::function<bool()> wants_stop = [&] {
    if (options.progress && shown != nullptr && SteadyClock::now() >= next_word) {
      next_word = SteadyClock::now() + std::chrono::milliseconds{200};
      Progress progress{.now = clock->now(), .ranks = static_cast<std::uint32_t>(world)};
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        const std::string_view state = shown->state(rank);
        progress.computing += state == "computing" ? 1 : 0;
        progress.communicating += state == "communicating" ? 1 : 0;
        progress.done += state == "done" ? 1 : 0;
      }
      options.progress(progress);
    }
    return options.wants_stop && options.wants_stop();
  };
  app::Simulation simulation{{.cluster = plan.cluster,
                              .router = router,
                              .network = plan.network,
                              .seed = options.seed,
                              .observer = records.observer(),
                              .wants_stop = &wants_stop}};
  Arena arena = Arena::create(static_cast<std::uint32_t>(world) + 1);
  Totals totals;
  LiveService service{{.engine = simulation.engine(),
                       .network = simulation.network(),
                       .router = router,
                       .cluster = plan.cluster,
                       .arena = arena,
                       .world = static_cast<std::uint32_t>(world),
                       .algorithm = plan.algorithm,
                       .fallback = plan.fallback,
                       .catalog = plan.catalog,
                       .is_faulty = !options.faults.empty(),
                       .on_crash = [&](std::uint32_t rank) { ::kill(members[rank].process, SIGKILL); },
                       .record = [&](const OperationRecord& record) {
                         totals.add(record);
                         records.add(record);
                       }}};
  engine::ProcessHost host{simulation.engine(), service,
                           {.externals = static_cast<std::uint32_t>(world),
                            .concurrency = static_cast<std::uint32_t>(options.jobs)}};
  service.attach(host);
  for (std::size_t rank = 0; rank < world; ++rank) host.add_external(fmt::format("rank {}", rank));
  const FaultClock faults{simulation.engine(), plan.faults.ranks, static_cast<std::uint32_t>(world), service};
  shown = &service;
  clock = &simulation.engine();

  LedgerFiles ledgers;
  for (std::size_t rank = 0; rank < world; ++rank) {
    if (plan.compute.mode == MeterMode::kLedger) ledgers.provide(rank, plan.compute.ledger);
    if (!options.output.empty()) ledgers.record();
  }
  const std::vector<int> cores = choose_cores(options.jobs);
  switchboard.connect(&host);
  for (Gathering::Member& member : members) {
    Gathering::reply(member, reply_for(static_cast<std::size_t>(member.rank), plan, host, arena, ledgers,
                                       cores));
  }
  try {
    const SameCore same_core{cores};
    host.run();
  } catch (...) {
    switchboard.connect(nullptr);
    children.kill_all();
    throw;
  }
  switchboard.connect(nullptr);
  if (!children.finish(kGrace)) {
    result.notes.push_back("some processes of the program did not leave by themselves and were ended");
  }

  for (std::uint32_t rank = 0; rank < world; ++rank) {
    const std::uint32_t device = plan.cluster.device_of_rank[rank];
    const RankPage& page = arena.page(rank);
    result.ranks.push_back({.times = service.times(rank),
                            .device = plan.cluster.devices[device].name,
                            .node = std::string{plan.cluster.graph.name(plan.cluster.ranks[rank])},
                            .memory_bytes = page.memory_bytes.load()});
    result.memory_bytes += result.ranks.back().memory_bytes;
    const Time finish = result.ranks.back().times.finish;
    if (finish != kTimeMax) result.total_ps = std::max(result.total_ps, count_ps(finish));
  }
  result.operations = totals.sorted();
  result.wire_bytes = service.wire_bytes();
  for (const std::string& note : simulation.network().notes()) result.notes.push_back(note);
  result.manifest = manifest_of(options, plan, world, simulation.engine().digest());
  result.wall_seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
  records.write(result, [&](std::size_t rank) { return ledgers.out(rank); });
  return result;
}

}  // namespace orrery::live
