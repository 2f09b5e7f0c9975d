// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a workload: every rank's operations on its streams, as soon as their dependencies allow, over a network.
///
/// An instant goes like this: whatever ends at it ends; then every rank concerned starts, in ascending id per stream,
/// what has become possible. So the order of starts does not depend on who ended first within an instant.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "orrery/base/pool.hpp"
#include "orrery/workload/collective_board.hpp"
#include "orrery/workload/compute_time.hpp"
#include "orrery/workload/memory_use.hpp"
#include "orrery/workload/message_board.hpp"
#include "orrery/workload/rank_program.hpp"
#include "orrery/workload/rank_times.hpp"

namespace orrery::workload {

/// How many operations of a kind a rank runs at a time; 0 = any number.
struct Streams {
  std::uint32_t cpu = 1;
  std::uint32_t compute = 1;
  std::uint32_t communication = 1;
  std::uint32_t memory = 1;
};

/// "cpu=1,compute=2,comm=all": what is not named keeps its value. InputError names `source`.
[[nodiscard]] Streams parse_streams(const std::string& text, const std::string& source);
[[nodiscard]] std::string to_text(const Streams& streams);

/// One operation that has ended, for whoever keeps records.
struct OpRecord {
  Rank rank = 0;
  std::uint64_t id = 0;
  OpKind kind = OpKind::kNone;
  Resource resource = Resource::kNothing;
  const std::string* name = nullptr;
  const Communication* communication = nullptr;  ///< Null unless it communicated.
  Time begin{};
  Time end{};
};

class OpRecorder {
 public:
  /// It begins, or is posted: within a rank in the order in which collectives and messages are matched.
  virtual void on_begin(Rank rank, std::uint64_t id) {
    static_cast<void>(rank);
    static_cast<void>(id);
  }
  virtual void on_op(const OpRecord& record) = 0;

 protected:
  ~OpRecorder() = default;
};

class Executor final : public Pinned, engine::Handler, engine::Watch, OpBinder, CommunicationListener {
 public:
  struct Setup {
    engine::Engine& engine;
    network::NetworkModel& network;
    topology::Router& router;
    const topology::Cluster& cluster;
    const Workload& workload;
    ComputeTime& compute;
    std::string algorithm;  ///< As `orrery collective --algorithm`: one name or "gloo", "nccl", "msccl:FILE".
    std::string fallback;   ///< "gloo" or "nccl", for what `algorithm` cannot do.
    std::string catalog;
    std::map<collectives::Operation, std::string> algorithm_of{};  ///< Instead of `algorithm` for these.
    Streams streams{};
    Bytes eager_limit{};  ///< Larger messages wait for their receive.
    std::size_t window =
        0;  ///< Operations held per rank; 0 = four million over all ranks, 4,096 to 262,144 each.
    bool folds = true;
    OpRecorder* recorder = nullptr;
    MemoryUse* memory = nullptr;
    const std::function<bool()>* wants_stop = nullptr;  ///< Asked while reading; true ends with Interrupted.
  };
  /// InputError when the workload does not fit the cluster.
  explicit Executor(Setup setup);
  ~Executor();

  /// To the end. SimulationError when ranks wait for ever, with who waits for what.
  void run();

  [[nodiscard]] const RankTimes& times(Rank rank) const { return ranks_[rank]->clock.times(); }
  [[nodiscard]] std::vector<CollectiveTotal> collectives() const { return collectives_.totals(); }
  [[nodiscard]] const MessageBoard& messages() const { return messages_; }
  /// Of the network, and what folded collectives would have added.
  [[nodiscard]] std::vector<network::LinkCounters> link_counters() const;
  [[nodiscard]] Rank done() const { return done_; }  ///< Ranks.
  [[nodiscard]] std::uint64_t finished_operations() const { return finished_; }

 private:
  struct RankState {
    RankState(Rank rank, std::unique_ptr<OpSource> source, std::size_t window, OpBinder& binder)
        : program{rank, std::move(source), window, binder} {}
    RankProgram program;
    RankClock clock;
    std::array<std::uint32_t, kResourceCount> free{};
    bool is_woken = false;
    bool is_done = false;
  };

  void bind(Rank rank, const Op& op, LoadedOp& loaded) override;
  void bind_communication(Rank rank, const Op& op, LoadedOp& loaded);
  void on_event(std::uint64_t payload) override;
  void on_under_way(Rank rank, Slot slot) override;
  void on_communicated(Rank rank, Slot slot) override;
  void report_blocked(std::vector<engine::Blocked>& blocked) const override;

  void wake(Rank rank);
  void issue(Rank rank);
  bool issue_from(Rank rank, Resource resource);
  void begin(Rank rank, Slot slot);
  void finish(Rank rank, Slot slot);
  void check_progress(Rank rank);
  bool grow_windows();
  void record(Rank rank, const LoadedOp& op) const;
  [[nodiscard]] std::string track_of(Rank rank, const LoadedOp& op) const;
  [[nodiscard]] const topology::DeviceSpec& device(Rank rank) const;
  // For reports.
  [[nodiscard]] std::string node_text(Rank rank, std::uint64_t id) const;
  [[nodiscard]] std::string obstacle_text(Rank rank, const RankProgram::Obstacle& obstacle) const;
  [[nodiscard]] engine::Blocked blocked_text(Rank rank, Slot slot) const;

  Setup setup_;
  engine::OriginId origin_;
  std::vector<ProcessGroup> groups_;
  std::unordered_map<std::string, std::uint32_t> group_of_name_;
  bool keeps_names_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> name_ids_;
  Pool<Communication> communications_;
  collectives::Wakefulness wakefulness_;
  CollectiveBoard collectives_;
  MessageBoard messages_;
  std::vector<std::unique_ptr<RankState>> ranks_;
  Rank done_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t read_ = 0;  // Operations.
};

}  // namespace orrery::workload
