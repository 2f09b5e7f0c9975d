// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Endpoint expressions, "cx5[0:2].port[0]", to offsets within a device. Each distinct expression of a device
/// is worked out once: fabrics repeat the same few in thousands of edges.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/topology/infragraph/layout.hpp"
#include "orrery/topology/infragraph/slice.hpp"

namespace orrery::topology::infragraph {

/// Offsets from here on stand for nodes that no component declares, which only lenient mode allows:
/// EndpointExpander::phantom() gives the path of such a one.
inline constexpr std::uint32_t kFirstPhantom = 0x8000'0000;

/// What a caller knows about the expression, for messages.
struct ExpressionSite {
  Position position;
  std::function<std::string()> path;  ///< "devices[0].edges[4].ep2.component".
};

class EndpointExpander {
 public:
  /// `max_work` bounds the paths produced in total.
  EndpointExpander(const Layouts& layouts, const Reader& reader, std::size_t max_work);

  /// InputError on what does not exist; in lenient mode only on what upstream cannot evaluate either.
  [[nodiscard]] const std::vector<std::uint32_t>& expand(std::int32_t device, std::string_view expression,
                                                         const ExpressionSite& site);
  /// The indices of `text` ("host[0:2]") over `count` things.
  [[nodiscard]] Indices indices(std::string_view text, std::int64_t count, const ExpressionSite& site) const;

  [[nodiscard]] const std::string& phantom(std::uint32_t offset) const {
    return phantoms_[offset - kFirstPhantom];
  }
  /// Names that lenient mode passed over: one sentence each.
  [[nodiscard]] const std::vector<std::string>& remarks() const& { return remarks_; }

 private:
  [[nodiscard]] std::vector<std::uint32_t> walk_strict(std::int32_t device, std::string_view expression,
                                                       const ExpressionSite& site);
  [[nodiscard]] std::vector<std::uint32_t> walk_lenient(std::int32_t device, std::string_view expression,
                                                        const ExpressionSite& site);
  void charge(std::size_t paths, const ExpressionSite& site);
  [[noreturn]] void fail(std::string_view expression, const ExpressionSite& site, std::string expected,
                         std::string nearest = {}) const;

  const Layouts& layouts_;
  const Reader& reader_;
  std::size_t work_left_;
  std::map<std::pair<std::int32_t, std::string_view>, std::vector<std::uint32_t>> known_;
  std::vector<std::string> phantoms_;
  std::vector<std::string> remarks_;
};

}  // namespace orrery::topology::infragraph
