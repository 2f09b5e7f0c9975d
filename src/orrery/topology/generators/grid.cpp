// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/generators/grid.hpp"

#include <fmt/format.h>

#include "orrery/base/text.hpp"

namespace orrery::topology {
namespace {

std::vector<std::int64_t> parse_dims(const config::Cursor& at) {
  constexpr const char* kExpected = "expected 1 to 3 whole numbers joined by x, such as 4x4x4";
  constexpr std::size_t kMaxDims = 3;
  std::vector<std::int64_t> dims;
  for (const std::string_view part : split(at.scalar("dimensions such as 4x4x4"), 'x')) {
    const auto size = parse_integer(trim(part));
    if (!size || *size < 1 || *size > kMaxNodes) at.fail(kExpected);
    dims.push_back(*size);
  }
  if (dims.size() > kMaxDims) at.fail(kExpected);
  return dims;
}

}  // namespace

Draft build_grid(const GridSpec& spec, bool wraps, const config::Cursor& at) {
  const std::vector<std::int64_t> dims = parse_dims(at.at("dims"));
  double hosts = 1;
  for (const std::int64_t size : dims) hosts *= static_cast<double>(size);
  expect_size(at.at("dims"), hosts, hosts * static_cast<double>(dims.size()));

  Draft draft = spec.draft();
  for (std::int64_t host = 0; host < static_cast<std::int64_t>(hosts); ++host) {
    draft.add_endpoint(indexed("host", host));
  }
  std::int64_t stride = 1;
  for (const std::int64_t size : dims) {
    for (std::int64_t host = 0; host < static_cast<std::int64_t>(hosts); ++host) {
      const std::int64_t place = host / stride % size;
      const bool is_last = place + 1 == size;
      if (is_last && (!wraps || size <= 2)) continue;
      const std::int64_t next = is_last ? host - place * stride : host + stride;
      spec.connect(draft, draft.endpoints[static_cast<std::size_t>(host)],
                   draft.endpoints[static_cast<std::size_t>(next)]);
    }
    stride *= size;
  }
  return draft;
}

}  // namespace orrery::topology
