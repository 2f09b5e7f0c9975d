// SPDX-License-Identifier: Apache-2.0
#pragma once
/// ASTRA-sim's system layer: ranks that walk their traces, chunks that pass through phases, and the network under
/// them, with the same cycles. Rules: docs/astra-sim.md.
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "orrery/astra/channels.hpp"
#include "orrery/astra/fabric.hpp"
#include "orrery/astra/fold.hpp"
#include "orrery/astra/instants.hpp"
#include "orrery/astra/settings.hpp"
#include "orrery/astra/simulate.hpp"
#include "orrery/astra/state.hpp"
#include "orrery/base/pinned.hpp"
#include "orrery/base/pool.hpp"
#include "orrery/engine/engine.hpp"

namespace orrery::astra {

struct CustomTrace;

/// How a packet passes between NPU and NIC.
struct Crossing {
  bool to_nic = false;
  bool reduces = false;
  bool sends_back = false;  ///< Only the shared bus cares.
};

class Machine final : Pinned, public engine::Handler, public engine::Watch {
 public:
  Machine(const Inputs& inputs, const Traces& traces, const Groups& groups, const Folding* folding,
          engine::Engine& engine, Warnings& warnings);
  ~Machine();

  /// Starts every rank; the engine's run does the rest. TieFound when a folded run cannot decide an order.
  void start();
  [[nodiscard]] RankTimes times(std::uint32_t rank) const;
  [[nodiscard]] std::uint64_t events() const { return instants_.executed(); }
  /// Messages went between ranks that differ in several dimensions.
  [[nodiscard]] bool crosses_dimensions() const { return fabric_.crosses_dimensions(); }

  void on_event(std::uint64_t payload) override;
  void report_blocked(std::vector<engine::Blocked>& blocked) const override;

 private:
  friend class CustomRun;
  friend class EndpointBus;

  // Planning (agenda.cpp).
  void plan(std::uint32_t rank, std::uint64_t delay, const Callback& callback);
  void run_batch(std::uint32_t rank);
  void run_callback(std::uint32_t rank, const Callback& callback);

  // Messages (messages.cpp).
  [[nodiscard]] ChannelKey key_to(std::uint32_t rank, std::uint32_t target, std::uint32_t tag,
                                  std::uint64_t size) const;
  [[nodiscard]] ChannelKey key_from(std::uint32_t rank, std::uint32_t source, std::uint32_t tag,
                                    std::uint64_t size) const;
  void send(std::uint32_t rank, std::uint32_t target, std::uint32_t tag, std::uint64_t size,
            const Notice& notice);
  void receive(std::uint32_t rank, std::uint32_t source, std::uint32_t tag, std::uint64_t size,
               const Notice& notice);
  void post_receive(std::uint32_t channel, const Notice& notice);
  void deliver(std::uint32_t message);
  void notify(const Notice& notice);
  void check_size(std::uint32_t rank, std::uint64_t size) const;
  void observe(const Event& event, const Provenance& provenance);

  // The workload layer (workload.cpp).
  void make_ready(RankState& state, std::uint32_t step);
  void issue_ready(std::uint32_t rank);
  void issue(std::uint32_t rank, std::uint32_t step);
  void issue_compute(std::uint32_t rank, std::uint32_t index, const Step& step);
  void replay(std::uint32_t rank, std::uint32_t index, const Step& step);
  void complete(std::uint32_t rank, std::uint32_t index);
  void release(std::uint32_t rank, std::uint32_t index);
  void finish_if_done(std::uint32_t rank);
  void open_activity(RankState& state, const Step& step);
  void close_activity(RankState& state, const Step& step);

  // Remote memory (remote_memory.cpp).
  void issue_memory(std::uint32_t rank, std::uint32_t index, const Step& step);
  void use_memory(std::uint32_t memory, std::uint32_t rank, std::uint32_t index, std::uint64_t size);
  void memory_is_free(std::uint32_t memory);

  // Collectives to chunks (collectives.cpp, plans.cpp).
  void issue_collective(std::uint32_t rank, std::uint32_t index, const Step& step);
  [[nodiscard]] std::shared_ptr<const Plan> plan_of(std::uint32_t rank, const Step& step);
  [[nodiscard]] std::shared_ptr<const Plan> native_plan(Collective collective);
  [[nodiscard]] std::shared_ptr<const Plan> group_plan(std::uint32_t rank, const Step& step);
  void check_choice(Collective collective, const Choice& choice, const Circle& circle) const;
  [[nodiscard]] std::int32_t next_priority(RankState& state, const Step& step) const;
  [[nodiscard]] std::uint32_t next_tag(RankState& state, const Step& step) const;
  void split(std::uint32_t rank, const Step& step, const Plan& plan, std::uint64_t size,
             std::vector<Phase>& phases);
  [[nodiscard]] Phase make_phase(RankState& state, Collective whole, Collective part, const Plan& plan,
                                 std::uint32_t dim, std::uint64_t& size, int turn);
  void finish_dataset_part(std::uint32_t dataset);

  // Queues (queues.cpp).
  void enqueue(std::uint32_t number);
  void dequeue(std::uint32_t number);
  void start_waiting(std::uint32_t rank, std::uint32_t queue);
  void next_phase(std::uint32_t number);

  // Algorithms (algorithms.cpp, ring.cpp, halving_doubling.cpp, double_binary_tree.cpp).
  void start_chunk(std::uint32_t number);
  void chunk_received(std::uint32_t number);
  void chunk_ready(std::uint32_t number);
  void place(Chunk& chunk);
  [[nodiscard]] std::uint32_t member(const Chunk& chunk, std::uint32_t index) const;
  [[nodiscard]] std::uint32_t neighbour(const Chunk& chunk, std::uint32_t distance, bool forward) const;
  void cross_endpoint(std::uint32_t number, const Crossing& crossing, std::uint64_t size);
  [[nodiscard]] std::uint64_t reduction_time(std::uint64_t size) const;
  [[nodiscard]] static Crossing next_crossing(Chunk& chunk, std::uint32_t unreduced, std::uint32_t reduced);
  void ring_start(std::uint32_t number);
  void ring_insert(std::uint32_t number);
  void ring_ready(std::uint32_t number);
  void ring_send(std::uint32_t number);
  void halving_start(std::uint32_t number);
  void halving_insert(std::uint32_t number);
  void halving_ready(std::uint32_t number);
  void tree_start(std::uint32_t number);
  void tree_received(std::uint32_t number);
  void tree_ready(std::uint32_t number);
  void place_in_tree(Chunk& chunk) const;

  // Reports (blocked.cpp).
  void explain_numbers(std::vector<engine::Blocked>& blocked) const;
  [[nodiscard]] std::string describe_step(std::uint32_t rank, Step step) const;
  [[nodiscard]] engine::Blocked describe_rank(std::uint32_t rank) const;

  const Inputs& inputs_;
  const SystemSettings& system_;
  const Groups& groups_;
  const Folding* folding_;
  Warnings& warnings_;
  std::uint32_t npus_;
  Instants instants_;
  Channels channels_;
  Fabric fabric_;
  TieWatch ties_;
  std::uint64_t chunks_per_queue_;
  std::vector<RankState> ranks_;
  std::vector<Agenda> agendas_;  // By rank.
  Pool<Callback> callbacks_;
  Pool<Chunk> chunks_;
  Pool<Dataset> datasets_;
  Pool<Notice> notices_;
  std::vector<Circle> circles_;
  std::array<std::shared_ptr<const Plan>, kCollectives> native_plans_{};
  std::map<std::uint32_t, std::uint32_t> group_circles_;
  std::map<std::string, workload::Workload> custom_workloads_;
  std::map<std::pair<std::string, std::uint32_t>, std::unique_ptr<const CustomTrace>> custom_traces_;

  struct Handshake {
    ChannelKey key{};
    Notice notice{};
  };
  Pool<Handshake> handshakes_;

  struct MemoryRequest {
    std::uint32_t rank = 0;
    std::uint32_t step = 0;
    std::uint64_t size = 0;
  };
  struct Memory {
    bool is_busy = false;
    std::deque<MemoryRequest> waiting;
  };
  std::vector<Memory> memories_;
};

}  // namespace orrery::astra
