// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/trace_check.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/app/trace_graph.hpp"
#include "orrery/app/trace_match.hpp"
#include "orrery/base/error.hpp"
#include "orrery/chakra/lower.hpp"
#include "orrery/chakra/node_source.hpp"
#include "orrery/chakra/open_traces.hpp"
#include "orrery/chakra/process_groups.hpp"

namespace orrery::app {
namespace {

using Json = nlohmann::ordered_json;
using workload::Op;
using workload::Rank;

constexpr std::array<std::string_view, 11> kKindNames{
    "unreadable",   "bad_node", "duplicate_id", "missing_dependency", "no_such_rank",     "no_such_group",
    "not_in_group", "cycle",    "missing_peer", "size_mismatch",      "sequence_mismatch"};

/// Reads one rank; whether it could be read to its end.
bool read_rank(const std::string& path, std::optional<Rank> rank, TraceGraph& graph,
               TraceProblems& problems) {
  try {
    const auto nodes = chakra::open_nodes(path);
    Op op;
    for (chakra::Node node; nodes->next(node);) {
      try {
        chakra::lower(node, *nodes, rank, op);
      } catch (const InputError& error) {
        constexpr std::size_t kNameShown = 80;
        const std::string name = node.name.substr(0, kNameShown);
        problems.add({ProblemKind::kBadNode, error.what(), {{rank.value_or(0), node.id, name}}});
        op.clear();
        op.id = node.id;
        op.name = node.name;
        op.data_deps = node.data_deps;
        op.control_deps = node.ctrl_deps;
      }
      graph.add(op);
    }
    return true;
  } catch (const InputError& error) {
    problems.add({ProblemKind::kUnreadable, error.what()});
    return false;
  }
}

void rename_groups(const std::map<std::string, std::string>& renamed, std::vector<Op>& ops) {
  for (Op& op : ops) {
    if (const auto found = renamed.find(op.group); found != renamed.end()) op.group = found->second;
  }
}

}  // namespace

std::string_view to_text(ProblemKind kind) { return kKindNames.at(static_cast<std::size_t>(kind)); }

bool is_input_problem(ProblemKind kind) { return kind < ProblemKind::kCycle; }

void TraceProblems::add(TraceProblem problem) {
  ++count_;
  has_input_problem_ = has_input_problem_ || is_input_problem(problem.kind);
  if (listed_.size() < kListed) listed_.push_back(std::move(problem));
}

int TraceProblems::exit_code() const {
  if (count_ == 0) return 0;
  return has_input_problem_ ? 2 : 3;
}

TraceCheck trace_check(const std::string& path, const std::string& comm_groups) {
  const chakra::TraceFiles files = chakra::find_traces(path);
  TraceCheck check{
      .name = files.name, .ranks = static_cast<Rank>(files.paths.size()), .is_single = files.is_single};
  if (!comm_groups.empty()) {  // The user's mistake, not the trace's.
    static_cast<void>(chakra::read_comm_groups(comm_groups, files.is_single ? ~Rank{0} : check.ranks));
  }
  chakra::TraceGroups groups;
  std::string group_problem;
  try {
    groups = chakra::find_groups(files, comm_groups);
  } catch (const InputError& error) {
    group_problem = error.what();
  }
  TraceMatch match{check.ranks, groups.groups, check.problems};
  bool is_readable = true;
  for (Rank i = 0; i < check.ranks; ++i) {
    const auto rank = files.is_single ? files.single_rank : i;
    TraceGraph graph{rank.value_or(0)};
    is_readable = read_rank(files.paths[i], rank, graph, check.problems) && is_readable;
    check.nodes += graph.size();
    std::vector<Op> ops = graph.communication(check.problems);
    if (files.is_single || !group_problem.empty()) continue;
    rename_groups(groups.renamed[i], ops);
    match.add(i, ops);
  }
  // A file that cannot be read has been named already, by its rank.
  if (is_readable && !group_problem.empty()) check.problems.add({ProblemKind::kBadNode, group_problem});
  if (is_readable && group_problem.empty() && !files.is_single) match.finish();
  check.messages = match.messages();
  check.collectives = match.collectives();
  return check;
}

std::string to_json(const TraceCheck& check) {
  Json problems = Json::array();
  for (const TraceProblem& problem : check.problems.listed()) {
    Json nodes = Json::array();
    for (const NodePlace& node : problem.nodes) {
      nodes.push_back({{"rank", node.rank}, {"id", node.id}, {"name", node.name}});
    }
    problems.push_back(
        {{"kind", to_text(problem.kind)}, {"message", problem.message}, {"nodes", std::move(nodes)}});
  }
  const Json json{{"name", check.name},
                  {"ok", check.problems.count() == 0},
                  {"ranks", check.ranks},
                  {"nodes", check.nodes},
                  {"messages", check.messages},
                  {"collectives", check.collectives},
                  {"across_ranks", !check.is_single},
                  {"problem_count", check.problems.count()},
                  {"problems", std::move(problems)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::app
