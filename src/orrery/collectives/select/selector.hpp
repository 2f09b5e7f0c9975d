// SPDX-License-Identifier: Apache-2.0
#pragma once
/// From what the user named to what is run: an algorithm by name, all of them, or what a library would choose.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "orrery/collectives/algorithm.hpp"
#include "orrery/collectives/run/collective_run.hpp"
#include "orrery/topology/cluster.hpp"
#include "orrery/topology/router.hpp"

namespace orrery::collectives {

/// A collective that somebody wants to run.
struct CollectiveRequest {
  Operation operation = Operation::kAllReduce;
  /// The whole buffer, as nccl-tests counts it: what all_reduce, broadcast and reduce work on; what all_gather
  /// and gather end up with; what reduce_scatter and scatter start from; what one rank hands to all_to_all.
  Bytes size;
  Rank root = 0;
  Bytes element{1};      ///< Buffers are cut between elements.
  bool floating = true;  ///< Element type; some switches reduce floating point only.
  /// Uneven forms: bytes per rank (all_gather, reduce_scatter, gather, scatter; n entries) or per pair
  /// (all_to_all; n*n entries, sender slow). Empty = even. When given, `size` is their sum (per rank for
  /// all_to_all: the largest sender's).
  std::vector<Bytes> sizes{};
};

/// Where it runs.
struct SelectionContext {
  const topology::Cluster& cluster;
  topology::Router& router;
  const AlgorithmRegistry& algorithms;
  std::span<const topology::NodeId> nodes;  ///< Of the group's ranks, in order.
  std::span<const Rank> ranks;              ///< Their ranks in the cluster.
  std::string catalog;                      ///< Folder of the NCCL tables.
};

/// One way to run it.
struct Choice {
  std::string algorithm;  ///< Name in the registry, or "msccl".
  std::string label;      ///< Shown to the user: "ring", or "nccl: ring LL128".
  PlanRequest request{};
  std::vector<topology::NodeId> nodes{};       ///< Of all participants, switches included.
  std::vector<EndpointCosts> costs{};          ///< Of each participant, or one for all.
  std::optional<Duration> notice{};            ///< As a CollectiveRun takes it.
  std::shared_ptr<const Schedule> schedule{};  ///< Run instead of planning when set: read from a file.
};

/// `selection` is an algorithm's name, several joined by commas, "all", "auto" (all that can, to be compared by
/// the caller), "gloo" (what torch's ProcessGroupGloo runs), "nccl" (the catalogue's table of the platform) or
/// "msccl:FILE" (an MSCCL program; FILE.xml alone will do).
/// InputError when a named one cannot do the request, with its reason, or when nothing can.
[[nodiscard]] std::vector<Choice> select(const std::string& selection, const CollectiveRequest& request,
                                         const SelectionContext& context);

/// The words `selection` may be, beside algorithm names.
[[nodiscard]] std::vector<std::string> selection_words();

/// Bytes of each chunk of `schedule` for `request`.
[[nodiscard]] Layout layout_of(const CollectiveRequest& request, const Schedule& schedule);

/// Bus bandwidth over algorithm bandwidth, as nccl-tests defines it.
[[nodiscard]] double bus_factor(Operation operation, Rank ranks);

}  // namespace orrery::collectives
