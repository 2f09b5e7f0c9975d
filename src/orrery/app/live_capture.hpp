// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery run --capture`: what the ranks did, as execution traces that `orrery replay` runs to the same times.
///
/// A rank is a chain of computing, cut where it posts an operation and where it asks for something. An operation
/// depends on the computing before its post; what follows a wait depends on the operation, too.
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "orrery/app/dataflow_notes.hpp"
#include "orrery/base/pinned.hpp"
#include "orrery/live/capture_listener.hpp"
#include "orrery/topology/cluster.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::app {

class LiveCapture final : public Pinned, public live::CaptureListener {
 public:
  LiveCapture(const topology::Cluster& cluster, std::uint32_t world);
  ~LiveCapture();

  /// After the run: capture.<rank>.et in `folder`, which appears whole or not at all. SimulationError when the run
  /// cannot be told as a trace.
  /// `notes`: what computing does not need what came from others; null when nobody asked.
  void write(const std::string& folder, const DataflowNotes* notes);

 private:
  struct Wait {
    std::uint64_t handle = 0;
    std::uint64_t node = 0;
  };
  struct Rank {
    std::vector<workload::Op> ops{};
    Time at{};                                    ///< Everything before is written down.
    std::vector<std::uint64_t> frontier{};        ///< What the next operation depends on.
    std::map<std::uint64_t, std::size_t> open{};  ///< Posted, not ended: handle to index of `ops`.
    std::unordered_map<std::uint64_t, std::uint64_t> awaitable{};  ///< Not waited for: handle to id.
    std::vector<std::string> groups{};                             ///< That it is in and uses.
    Wait awaited{};                                                ///< The last one since the rank computed.
    std::vector<std::pair<Wait, std::size_t>> after{};  ///< Waits, and what was computed right after them.
  };
  struct Call {  ///< A collective: who has called it.
    std::uint32_t members = 0;
    std::uint32_t called = 0;
    std::uint32_t ended = 0;
  };
  using CallKey = std::pair<std::string, std::uint64_t>;

  void on_post(std::uint32_t rank, const orrery_op& op, const live::Group& group, Time now) override;
  void on_request(std::uint32_t rank, Time now) override;
  void on_answer(std::uint32_t rank, live::Pause pause, std::uint64_t handle, Time now) override;
  void on_awaited(std::uint32_t rank, std::uint64_t handle) override;
  void on_ended(std::uint32_t rank, const live::CapturedEnd& end) override;

  workload::Op& add(Rank& rank, workload::OpKind kind, std::string name);
  void compute_until(std::uint32_t rank, Time now);
  void build_on(Rank& rank, std::uint64_t handle);
  void describe_collective(workload::Op& made, const orrery_op& op, const live::Group& group);
  const std::string& name_of(const live::Group& group);
  /// What never ended: what others had a part in goes on behind the rank's end, the rest never happened.
  void settle_open(Rank& rank);
  /// What the rank noted, on the computing that follows each wait.
  void add_notes(std::uint32_t rank, const DataflowNotes& notes);
  void write_rank(std::uint32_t rank, const std::string& path) const;

  const topology::Cluster& cluster_;
  std::vector<Rank> ranks_;
  std::unordered_map<const live::Group*, std::string> names_;
  std::map<std::string, std::vector<workload::Rank>> members_;  ///< By name.
  std::unordered_map<const live::Group*, std::int64_t> tag_base_;
  std::map<CallKey, Call> calls_;                                       ///< Not ended by all.
  std::map<std::pair<std::uint32_t, std::uint64_t>, CallKey> call_of_;  ///< Rank and handle.
  std::string failed_;                                                  ///< An operation that did.
};

}  // namespace orrery::app
