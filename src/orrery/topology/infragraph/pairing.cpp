// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/infragraph/pairing.hpp"

#include <algorithm>
#include <utility>

#include "orrery/base/check.hpp"

namespace orrery::topology::infragraph {
namespace {

[[noreturn]] void fail(const Reader& reader, const EdgeSite& site, std::string expected) {
  reader.fail(site.row.position, fmt::format("{}[{}]", site.list, site.index), {}, std::move(expected));
}

/// "nic" one2one "port" takes the first ports; "nic[0:2]" one2one "port[0:4]" cannot be meant.
void expect_even(const Reader& reader, const EdgeSite& site, std::size_t first, std::size_t second) {
  const Endpoint& longer = first > second ? site.row.ep1 : site.row.ep2;
  if (first == second || longer.component.find('[') == std::string_view::npos) return;
  fail(
      reader, site,
      fmt::format("one2one pairs {} nodes with {}; without a slice the longer side would mean its first ones",
                  first, second));
}

}  // namespace

void pair_up(const Reader& reader, const EdgeSite& site, const std::vector<std::uint32_t>& first,
             const std::vector<std::uint32_t>& second, std::uint32_t link, std::size_t& budget,
             std::vector<ExpandedEdge>& edges) {
  const bool is_product = site.row.scheme == Scheme::kManyToMany;
  if (!is_product && !reader.lenient) expect_even(reader, site, first.size(), second.size());
  const std::uint64_t pairs =
      is_product ? std::uint64_t{first.size()} * second.size() : std::min(first.size(), second.size());
  if (pairs > budget) fail(reader, site, "the edges of this file come to more pairs than are accepted");
  budget -= pairs;
  const std::size_t before = edges.size();
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    if (a != b) edges.push_back({a, b, link});
  };
  if (is_product) {
    for (const std::uint32_t a : first) {
      for (const std::uint32_t b : second) add(a, b);
    }
  } else {
    for (std::size_t i = 0; i < pairs; ++i) add(first[i], second[i]);
  }
  // "cpu" many2many "cpu" is how generic descriptions say "all of them", even where there is one.
  const bool is_alone = is_product && first.size() == 1;
  if (edges.size() == before && !is_alone && !reader.lenient) {
    fail(reader, site, "joins each node to itself only");
  }
}

std::size_t merge_parallel(std::vector<ExpandedEdge>& edges) {
  struct Key {
    std::uint64_t pair;
    std::uint32_t place;
  };
  std::vector<Key> keys(edges.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    const auto [low, high] = std::minmax(edges[i].a, edges[i].b);
    keys[i] = {std::uint64_t{low} << 32 | high, i};
  }
  std::ranges::sort(keys, {}, [](const Key& key) { return std::pair{key.pair, key.place}; });
  std::vector<char> is_repeat(edges.size(), 0);
  std::size_t conflicts = 0;
  for (std::size_t i = 0; i < keys.size();) {
    ExpandedEdge& first = edges[keys[i].place];
    bool differs = false;
    std::size_t next = i + 1;
    for (; next < keys.size() && keys[next].pair == keys[i].pair; ++next) {
      is_repeat[keys[next].place] = 1;
      differs = differs || edges[keys[next].place].link != first.link;
      first.link = edges[keys[next].place].link;
    }
    conflicts += differs ? 1U : 0U;
    i = next;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (is_repeat[i] == 0) edges[kept++] = edges[i];
  }
  edges.resize(kept);
  return conflicts;
}

}  // namespace orrery::topology::infragraph
