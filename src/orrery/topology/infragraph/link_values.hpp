// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What each link carries: annotation, else the file's physical values, else the table of defaults by name,
/// else the fallback, with a warning.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/topology/infragraph/expand.hpp"

namespace orrery::topology::infragraph {

/// What an annotation says about a link or an edge.
struct LinkOverride {
  std::optional<Bandwidth> bandwidth;
  std::optional<Duration> latency;
  std::optional<Bandwidth> back_bandwidth;  ///< From ep2 to ep1, where that differs.
  std::optional<Duration> back_latency;
  std::optional<bool> is_half_duplex;
  std::optional<std::uint32_t> cables;  ///< Parallel cables that this one edge stands for.

  /// What `other` says wins.
  void update(const LinkOverride& other);
};

/// Bandwidth given in transfers per second: one bit each on every lane. PCIe links are taken as 16 lanes wide.
[[nodiscard]] Bandwidth from_lanes(std::string_view link, Bandwidth lane);

/// '*' matches any run of characters, everything else itself.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view name);

class LinkValues {
 public:
  explicit LinkValues(const InfraGraphOptions& options) : options_{options} {}
  [[nodiscard]] LinkSpec resolve(const LinkUse& link, const LinkOverride& override);
  /// One sentence for each link name that needed the fallback, in the order met.
  [[nodiscard]] const std::vector<std::string>& remarks() const& { return remarks_; }

 private:
  const InfraGraphOptions& options_;
  std::vector<std::string> remarks_;
};

}  // namespace orrery::topology::infragraph
