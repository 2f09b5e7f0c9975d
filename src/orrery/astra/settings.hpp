// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What ASTRA-sim's own files say: system (JSON), network (YAML), remote memory (JSON), communicator groups (JSON).
///
/// ASTRA-sim ignores keys it does not know. So do we, with a warning, unless the key looks like a misspelt one.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace orrery::astra {

using Warnings = std::vector<std::string>;

/// The collectives that ASTRA-sim simulates.
enum class Collective : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll };
inline constexpr std::size_t kCollectives = 4;
/// "all-reduce", ... as its keys spell them.
[[nodiscard]] const char* to_text(Collective collective);

enum class Algorithm : std::uint8_t { kRing, kDirect, kHalvingDoubling, kDoubleBinaryTree };

/// One entry of an `...-implementation` list.
struct Choice {
  Algorithm algorithm = Algorithm::kRing;
  bool flattened = false;    ///< A one* form: over all NPUs as one dimension.
  std::int32_t window = -1;  ///< Of direct: how many peers at once; -1 = all.
  std::string text{};        ///< As written.
};

enum class Policy : std::uint8_t { kLifo, kFifo, kExplicit };

/// LogGP parameters of the endpoint's bus.
struct SharedBus {
  bool modelled = false;
  std::uint64_t latency = 0;   ///< L, in ns.
  std::uint64_t overhead = 0;  ///< o, in ns.
  std::uint64_t gap = 0;       ///< g, in ns.
  double gap_per_byte = 0;     ///< G, in ns; ASTRA-sim keeps it as a float.
  std::int64_t reduction_delay = 1;
};

struct SystemSettings {
  std::string source;
  Policy policy = Policy::kLifo;
  bool has_policy = false;
  bool is_local_bw_aware = false;  ///< localBWAware, not baseline.
  bool has_optimization = false;
  std::uint64_t splits = 0;  ///< Chunks per collective; 0 = not said.
  std::uint64_t active_chunks = 1;
  std::uint64_t endpoint_delay = 10;  ///< ns, injection-scale included.
  double memory_bandwidth = 0;        ///< B/s; 0 = not said.
  double peak = 0;                    ///< FLOP/s.
  bool roofline = false;
  bool replay_only = false;
  SharedBus bus{};
  std::array<std::vector<Choice>, kCollectives> choices{};
  std::array<std::string, kCollectives> custom{};      ///< Prefix of ET files; "" = none.
  std::map<std::uint64_t, std::string> node_custom{};  ///< By id of the workload's node.
};

/// `injection_scale` multiplies the endpoint delay that the file states.
[[nodiscard]] SystemSettings read_system(const std::string& path, double injection_scale, Warnings& warnings);

enum class Shape : std::uint8_t { kRing, kFullyConnected, kSwitch };

struct Dimension {
  Shape shape = Shape::kRing;
  std::uint32_t size = 0;
  double bandwidth = 0;  ///< B/ns; the file's GB is 2^30 bytes.
  double latency = 0;    ///< ns.
  double gigabytes = 0;  ///< Bandwidth as the file states it.
};

struct NetworkSettings {
  std::string source;
  std::vector<Dimension> dims;  ///< Innermost first: ranks that follow each other differ in dimension 0.
  [[nodiscard]] std::uint32_t npus() const;
};

[[nodiscard]] NetworkSettings read_network(const std::string& path, Warnings& warnings);

enum class MemoryKind : std::uint8_t { kAbsent, kPerNode, kPerNpu, kPool };

struct MemorySettings {
  std::string source;
  MemoryKind kind = MemoryKind::kAbsent;
  std::uint64_t latency = 0;    ///< ns.
  std::uint64_t bandwidth = 0;  ///< B/ns.
  std::uint32_t npus_per_node = 0;
  std::uint32_t nodes = 0;
};

[[nodiscard]] MemorySettings read_memory(const std::string& path, Warnings& warnings);

/// Members of each group in the order of the file, which is the order of their ring. Ids are positive: 0 is
/// ASTRA-sim's name for all ranks.
using GroupLists = std::map<std::int64_t, std::vector<std::uint32_t>>;
[[nodiscard]] GroupLists read_groups(const std::string& path, std::uint32_t npus);

}  // namespace orrery::astra
