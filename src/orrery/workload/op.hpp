// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a rank does, as data: operations with dependencies. Traces, captures and generators all become this, and
/// whoever runs a workload sees nothing else.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/units.hpp"
#include "orrery/collectives/schedule.hpp"

namespace orrery::workload {

using collectives::Rank;

enum class OpKind : std::uint8_t {
  kNone,  ///< Does nothing and takes no time; others may depend on it.
  kCompute,
  kCollective,
  kSend,
  kReceive,
  kLoad,  ///< From remote memory.
  kStore,
};

/// Of computing that follows a wait: how much of it needs nothing that the wait brought.
struct Independent {
  Duration time{};       ///< Recorded; could have been done before the wait.
  Duration again{};      ///< Recorded; what doing it before would add, since only a part can be had by then.
  std::string what{};    ///< For people: "linear at model.py:62 (12 calls)".
  std::uint64_t of = 0;  ///< Id of the communication that was waited for, of the same rank.
  bool operator==(const Independent&) const = default;
};

/// A tensor that an operation reads or writes.
struct TensorUse {
  std::string tensor;
  Bytes size;
  bool is_written = false;
  bool operator==(const TensorUse&) const = default;
};

/// One operation of one rank. Which fields mean something depends on `kind`.
struct Op {
  std::uint64_t id = 0;  ///< Unique within the rank.
  OpKind kind = OpKind::kNone;
  bool on_cpu = false;  ///< Runs on the host, not on the device.
  std::string name;
  std::vector<std::uint64_t> data_deps{};  ///< Ids of the same rank that must be done before this may start.
  std::vector<std::uint64_t> control_deps{};

  Duration recorded{};  ///< How long it took when it was recorded; 0 = not known.
  double recorded_scale =
      1;  ///< compute_scale of the device it was recorded on; 0 = a pause, as long everywhere.
  std::uint64_t flops = 0;  ///< Operations it computes; 0 = not known.
  Bytes tensor;             ///< What it reads and writes (compute), or moves (load, store).

  collectives::Operation operation = collectives::Operation::kAllReduce;
  bool is_block = false;  ///< A reduce_scatter that the trace calls REDUCE_SCATTER_BLOCK.
  Bytes
      size;  ///< As Chakra counts: of all_gather and gather one rank's contribution, else a rank's whole buffer.
  std::string group{};         ///< Name of its process group; "" = all ranks.
  Rank root = 0;               ///< Of a rooted collective: a rank of the cluster, not of the group.
  Rank peer = 0;               ///< Of a send or receive.
  std::int64_t tag = 0;        ///< Of a send or receive.
  std::int64_t priority = 0;   ///< Higher goes first where the policy asks.
  std::vector<bool> dims{};    ///< Network dimensions it uses; empty = all.
  std::vector<Bytes> sizes{};  ///< Uneven forms: bytes per member of the group; empty = even.
  Bytes element{1};            ///< Of a collective: its buffer is cut between elements of this size.
  bool is_floating = true;     ///< Of a collective: what its elements are.
  bool is_detached = false;    ///< The rank's end does not wait for it.
  std::vector<TensorUse> tensors{};          ///< Where the trace says; those read come first.
  std::optional<Independent> independent{};  ///< Of computing, where whoever wrote the trace looked for it.

  /// Fit for the next use, with the memory kept.
  void clear();
};

/// The operations of one rank in the order of its file; one pass, so that a trace need not fit in memory.
class OpSource {
 public:
  virtual ~OpSource() = default;
  /// False at the end. InputError, with file and place, for what cannot be read.
  virtual bool next(Op& op) = 0;
};

/// Named lists of ranks.
using Groups = std::map<std::string, std::vector<Rank>>;

/// The operations of every rank.
struct Workload {
  std::string name;
  Rank ranks = 0;
  Groups groups{};
  std::string
      streams{};  ///< How many operations a rank runs at a time, unless the user says; "" = the default.
  /// A new pass over the rank's operations. May be called from several threads.
  std::function<std::unique_ptr<OpSource>(Rank)> open{};
};

/// A workload held in memory: `ops[rank]`.
[[nodiscard]] Workload stored_workload(std::string name, std::vector<std::vector<Op>> ops,
                                       Groups groups = {});
/// Likewise, of operations that others look at too.
[[nodiscard]] Workload shared_workload(std::string name,
                                       std::shared_ptr<const std::vector<std::vector<Op>>> ops,
                                       Groups groups = {});

}  // namespace orrery::workload
