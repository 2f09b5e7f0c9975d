// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/msccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "orrery/base/check.hpp"
#include "orrery/base/rng.hpp"
#include "orrery/collectives/plan/msccl_schedule.hpp"
#include "orrery/collectives/plan/msccl_wiring.hpp"

namespace orrery::collectives::plan {

namespace {

constexpr std::uint32_t kNone = MscclWiring::kNone;

/// What a cell holds: some ranks' contributions to one chunk. Each rank has a random number, and a sum of those
/// stands for the set: two sets have the same one with probability 2^-64.
struct Cell {
  std::uint64_t sum = 0;
  std::uint32_t chunk = kNone;  // Nothing yet.
  std::uint32_t block = kNone;  // Who wrote it: a block of the wiring, and its step.
  std::uint32_t step = 0;
};

struct Message {
  std::vector<Cell> cells;
  ChunkRange chunks;
  std::uint32_t from = 0;  // Blocks of the wiring.
  std::uint32_t to = 0;
  std::uint32_t step = 0;  // That sent it.
};

/// Runs a program on cells. With a schedule to write, blocks advance in rounds and messages of a lane from one GPU
/// to another stay in order; without one, blocks advance at random and messages keep order per connection only.
class Machine {
 public:
  Machine(const MscclProgram& program, const MscclWiring& wiring, std::uint64_t seed, MscclSchedule* schedule)
      : program_{program},
        blocks_{wiring.blocks},
        schedule_{schedule},
        rng_{seed, "msccl"},
        next_(blocks_.size(), 0),
        waiters_(blocks_.size()),
        is_woken_(blocks_.size(), false),
        incoming_(blocks_.size(), kNone) {
    Rng marks{0, "msccl", "contribution"};
    for (Rank rank = 0; rank < program_.shape.ranks; ++rank) {
      marks_.push_back(marks.next());
      all_ += marks_.back();
    }
    for (Rank rank = 0; rank < program_.shape.ranks; ++rank) fill(rank);
    connect();
  }

  void run() {
    for (std::uint32_t block = 0; block < blocks_.size(); ++block) wake(block);
    while (!woken_.empty()) {
      std::vector<std::uint32_t> ready;
      for (const std::uint32_t block : std::exchange(woken_, {})) {
        is_woken_[block] = false;
        if (is_ready(block)) ready.push_back(block);
      }
      arrange(ready);
      for (const std::uint32_t block : ready) {
        do {
          execute(block);
        } while (schedule_ == nullptr && rng_.next() % 2 == 0 && is_ready(block));
        wake(block);
      }
    }
    check_leftovers();
    for (Rank rank = 0; rank < program_.shape.ranks; ++rank) check_output(rank);
  }

 private:
  using Queue = std::deque<Message>;

  void fill(Rank rank) {
    const MscclShape& shape = program_.shape;
    std::vector<Cell>& memory = memory_.emplace_back(program_.gpus[rank].cells);
    for (std::uint32_t i = 0; i < shape.inputs(); ++i) {
      std::uint32_t chunk = i;
      if (shape.operation == Operation::kAllGather) chunk = rank * shape.block() + i;
      if (shape.operation == Operation::kAllToAll) chunk = rank * shape.chunks + i;
      memory[shape.input(rank) + i] = {marks_[rank], chunk, kNone, 0};
    }
  }

  void connect() {
    std::map<std::tuple<Rank, Rank, std::uint32_t>, std::uint32_t> ids;
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
      const std::uint32_t to = blocks_[i].receiver;
      if (to == kNone) continue;
      const std::uint32_t lane = schedule_ == nullptr ? to : blocks_[i].lane;
      const auto fresh = static_cast<std::uint32_t>(ids.size());
      incoming_[to] = ids.try_emplace({blocks_[i].gpu, blocks_[to].gpu, lane}, fresh).first->second;
    }
    queues_.resize(ids.size());
  }

  [[nodiscard]] const MscclStep& step_of(std::uint32_t block) const {
    return blocks_[block].block->steps[next_[block]];
  }
  void wake(std::uint32_t block) {
    if (!is_woken_[block]) woken_.push_back(block);
    is_woken_[block] = true;
  }

  /// If not, the block is woken when what it waits for may have come.
  bool is_ready(std::uint32_t block) {
    if (next_[block] == blocks_[block].block->steps.size()) return false;
    const MscclStep& step = step_of(block);
    if (step.waits) {
      const std::uint32_t other = blocks_[block].first_of_gpu + step.after_block;
      if (next_[other] <= step.after_step) {
        waiters_[other].push_back(block);
        return false;
      }
    }
    if (!step.verb.receives) return true;
    if (incoming_[block] == kNone) return false;
    const Queue& queue = queues_[incoming_[block]];
    return !queue.empty() && queue.front().to == block;
  }

  /// Those that need not wait for a message first, so that a receive does not hold them back; or any order.
  void arrange(std::vector<std::uint32_t>& ready) {
    std::ranges::sort(ready);
    if (schedule_ != nullptr) {
      std::ranges::stable_partition(ready, [&](std::uint32_t b) { return !step_of(b).verb.receives; });
      return;
    }
    for (std::size_t i = ready.size(); i > 1; --i) {
      std::swap(ready[i - 1], ready[static_cast<std::size_t>(rng_.next() % i)]);
    }
    const std::size_t some = ready.empty() ? 0 : 1 + static_cast<std::size_t>(rng_.next() % ready.size());
    for (std::size_t i = some; i < ready.size(); ++i) wake(ready[i]);  // Those are late.
    ready.resize(some);
  }

  void execute(std::uint32_t block) {
    const MscclStep& step = step_of(block);
    std::vector<Cell>& memory = memory_[blocks_[block].gpu];
    std::vector<Cell> value;
    if (step.verb.receives) value = receive(block, step);
    if (step.verb.reads) {
      const auto from = memory.begin() + step.source;
      const std::vector<Cell> source(from, from + step.count);
      if (!step.verb.receives) {
        value = source;
        for (const Cell& cell : value) {
          if (cell.chunk == kNone) fail(block, next_[block], "reads what nothing was written to");
        }
      } else {
        add(block, value, source);
      }
    }
    if (step.verb.joins) {
      const auto from = memory.begin() + step.target;
      const std::vector<Cell> old(from, from + step.count);
      if (schedule_ != nullptr) charge(value, old);
      add(block, value, old);
    }
    if (step.verb.writes) {
      for (Cell& cell : value) cell = {cell.sum, cell.chunk, block, next_[block]};
      std::ranges::copy(value, memory.begin() + step.target);
    }
    if (step.verb.sends) send(block, std::move(value));
    ++next_[block];
    for (const std::uint32_t waiter : std::exchange(waiters_[block], {})) wake(waiter);
  }

  void add(std::uint32_t block, std::vector<Cell>& value, const std::vector<Cell>& other) const {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (other[i].chunk == kNone) fail(block, next_[block], "adds to what nothing was written to");
      if (other[i].chunk != value[i].chunk) {
        fail(block, next_[block], fmt::format("adds chunks {} and {}", value[i].chunk, other[i].chunk));
      }
      value[i].sum += other[i].sum;
    }
  }

  /// Local additions cost what they would have cost had the message been added on arrival.
  void charge(const std::vector<Cell>& value, const std::vector<Cell>& old) const {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!schedule_->add_on_arrival(value[i].block, value[i].step)) {
        static_cast<void>(schedule_->add_on_arrival(old[i].block, old[i].step));
      }
    }
  }

  void send(std::uint32_t block, std::vector<Cell> value) {
    const std::uint32_t to = blocks_[block].receiver;
    ChunkRange chunks;
    if (schedule_ != nullptr) {
      std::vector<std::uint32_t> ids;
      for (const Cell& cell : value) ids.push_back(cell.chunk);
      chunks = schedule_->name(ids);
      schedule_->send(blocks_[block], blocks_[to].gpu, chunks);
    }
    queues_[incoming_[to]].push_back({std::move(value), chunks, block, to, next_[block]});
    wake(to);
  }

  std::vector<Cell> receive(std::uint32_t block, const MscclStep& step) {
    Queue& queue = queues_[incoming_[block]];
    Message message = std::move(queue.front());
    queue.pop_front();
    if (!queue.empty()) wake(queue.front().to);
    if (message.cells.size() != step.count) {
      fail(block, next_[block],
           fmt::format("receives {} chunks, gets {} from {}", step.count, message.cells.size(),
                       place(message.from, message.step)));
    }
    if (schedule_ != nullptr) {
      const ActionKind kind = step.verb.reads ? ActionKind::kReceiveReduce : ActionKind::kReceive;
      schedule_->receive(blocks_[block], block, next_[block],
                         {kind, blocks_[message.from].gpu, message.chunks});
    }
    return std::move(message.cells);
  }

  void check_leftovers() const {
    for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
      if (next_[i] == blocks_[i].block->steps.size()) continue;
      fail(i, next_[i],
           schedule_ == nullptr ? "waits forever"
                                : "has no place in one order of the dependent thread blocks of this GPU");
    }
    for (const Queue& queue : queues_) {
      if (!queue.empty()) fail(queue.front().from, queue.front().step, "sends what is never received");
    }
  }

  void check_output(Rank rank) const {
    const MscclShape& shape = program_.shape;
    const bool reduces =
        shape.operation == Operation::kAllReduce || shape.operation == Operation::kReduceScatter;
    for (std::uint32_t i = 0; i < shape.outputs(); ++i) {
      const Rank owner = i / std::max(shape.block(), 1U);
      std::uint32_t chunk = i;
      if (shape.operation == Operation::kReduceScatter) chunk = rank * shape.block() + i;
      if (shape.operation == Operation::kAllToAll) {
        chunk = owner * shape.chunks + rank * shape.block() + i % shape.block();
      }
      const std::uint64_t sum = reduces ? all_ : marks_[owner];
      const Cell& cell = memory_[rank][shape.output(rank) + i];
      if (cell.chunk == chunk && cell.sum == sum) continue;
      const std::string problem = fmt::format("leaves the wrong data in chunk {} of the output", i);
      if (cell.block != kNone) fail(cell.block, cell.step, problem);
      const std::string nobody = problem + ": no step writes it";
      throw InputError{
          {program_.path, program_.gpus[rank].position, fmt::format("gpu {}", rank), {}, nobody, {}}};
    }
  }

  [[nodiscard]] std::string place(std::uint32_t block, std::uint32_t step) const {
    return msccl_place(blocks_[block].gpu, blocks_[block].block->id, step);
  }
  [[noreturn]] void fail(std::uint32_t block, std::uint32_t step, const std::string& problem) const {
    const Position position = blocks_[block].block->steps[step].position;
    throw InputError{{program_.path, position, place(block, step), {}, problem, {}}};
  }

  const MscclProgram& program_;
  const std::vector<MscclWiring::Block>& blocks_;
  MscclSchedule* schedule_;
  Rng rng_;
  std::vector<std::uint64_t> marks_;  // Of each rank's contribution.
  std::uint64_t all_ = 0;
  std::vector<std::vector<Cell>> memory_;
  std::vector<std::uint32_t> next_;  // Step of each block.
  std::vector<std::vector<std::uint32_t>> waiters_;
  std::vector<std::uint32_t> woken_;
  std::vector<bool> is_woken_;
  std::vector<std::uint32_t> incoming_;  // Queue of each block; kNone where nobody sends to it.
  std::vector<Queue> queues_;
};

}  // namespace

std::unique_ptr<Schedule> read_msccl(const std::string& path, Operation operation, Rank ranks) {
  const MscclProgram program = read_msccl_program(path, operation, ranks);
  const MscclWiring wiring = wire_msccl(program);
  constexpr std::uint64_t kOrders = 4;
  for (std::uint64_t seed = 1; seed <= kOrders; ++seed) Machine{program, wiring, seed, nullptr}.run();
  const bool is_exchange = operation == Operation::kAllToAll;
  auto schedule =
      std::make_unique<MscclSchedule>(ranks, program.shape.chunks * (is_exchange ? ranks : 1), wiring);
  Machine{program, wiring, 0, schedule.get()}.run();
  return schedule;
}

}  // namespace orrery::collectives::plan
