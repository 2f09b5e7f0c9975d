// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where a rank stands: tensor-parallel neighbours are next to each other, then context, then data, then stages, so
/// that those who talk most are closest. Experts are shared out over neighbours in the data-parallel dimension.
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/workload/generate/recipe.hpp"

namespace orrery::workload::generate {

struct Place {
  std::int64_t tp = 0;
  std::int64_t cp = 0;
  std::int64_t dp = 0;
  std::int64_t stage = 0;
};

[[nodiscard]] Place place_of(const Recipe& recipe, Rank rank);
[[nodiscard]] Rank rank_at(const Recipe& recipe, const Place& place);

/// Who calls collectives together.
enum class GroupKind : std::uint8_t {
  kTensor,      ///< tp: share every matrix of a layer.
  kContext,     ///< cp: share a sequence.
  kReplica,     ///< dp: hold the same dense weights (data and context parallel).
  kExpert,      ///< ep: share the experts of a layer.
  kExpertData,  ///< edp: hold the same experts.
  kEmbedding,   ///< emb: first and last stage, which hold the same tied embedding.
};
inline constexpr std::size_t kGroupKinds = 6;

/// "tp", "cp", "dp", "ep", "edp", "emb".
[[nodiscard]] std::string_view to_text(GroupKind kind);
/// Members of a group of that kind.
[[nodiscard]] std::int64_t group_size(const Recipe& recipe, GroupKind kind);
/// "tp.0" and so on, numbered by their first ranks.
[[nodiscard]] std::string group_name(const Recipe& recipe, GroupKind kind, const Place& place);
/// The members of the place's group, ascending.
[[nodiscard]] std::vector<Rank> members(const Recipe& recipe, GroupKind kind, const Place& place);
/// Whether the place belongs to a group of that kind with anybody else.
[[nodiscard]] bool is_member(const Recipe& recipe, GroupKind kind, const Place& place);
/// All groups of more than one member that are used.
[[nodiscard]] Groups all_groups(const Recipe& recipe);

}  // namespace orrery::workload::generate
