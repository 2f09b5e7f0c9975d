// SPDX-License-Identifier: Apache-2.0
// Goal: each way in which a trace can get stuck is found and names ranks and nodes; a sound trace has no problem.
#include "orrery/app/trace_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/app/trace_convert.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/chakra/lower.hpp"
#include "orrery/chakra/trace_writer.hpp"
#include "orrery/testing/temporary_folder.hpp"

namespace orrery::app {
namespace {

using collectives::Operation;
using testing::HasSubstr;
using workload::Op;
using workload::OpKind;
using workload::Rank;

Op op_of(std::uint64_t id, OpKind kind, std::vector<std::uint64_t> deps = {}) {
  Op op;
  op.id = id;
  op.kind = kind;
  op.name = "n" + std::to_string(id);
  op.data_deps = std::move(deps);
  return op;
}

Op collective(std::uint64_t id, Operation operation, std::int64_t size,
              std::vector<std::uint64_t> deps = {}) {
  Op op = op_of(id, OpKind::kCollective, std::move(deps));
  op.operation = operation;
  op.size = Bytes{size};
  return op;
}

Op message(std::uint64_t id, OpKind kind, Rank peer, std::int64_t tag, std::int64_t size) {
  Op op = op_of(id, kind);
  op.peer = peer;
  op.tag = tag;
  op.size = Bytes{size};
  return op;
}

class TraceChecks : public testing::Test {
 protected:
  TraceCheck check(const std::vector<std::vector<Op>>& ranks, const std::string& groups = {}) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto sink = open_sink(folder_.path("t." + std::to_string(rank) + ".et"));
      const auto writer = chakra::write_et(*sink);
      writer->metadata({});
      for (const Op& op : ranks[rank]) writer->node(chakra::to_node(op, static_cast<Rank>(rank)));
      writer->finish();
      sink->commit();
    }
    return trace_check(folder_.path("t"), groups.empty() ? "" : folder_.write("groups.json", groups));
  }

  static void expect_one(const TraceCheck& check, ProblemKind kind, const std::string& words, int exit_code) {
    ASSERT_EQ(check.problems.count(), 1U) << to_json(check);
    EXPECT_EQ(to_text(check.problems.listed()[0].kind), to_text(kind));
    EXPECT_THAT(check.problems.listed()[0].message, HasSubstr(words));
    EXPECT_EQ(check.problems.exit_code(), exit_code);
  }

  orrery::test::TemporaryFolder folder_;
};

TEST_F(TraceChecks, ASoundTraceHasNoProblem) {
  const TraceCheck result =
      check({{op_of(1, OpKind::kCompute), collective(2, Operation::kAllReduce, 64, {1}),
              message(3, OpKind::kSend, 1, 5, 8)},
             {message(4, OpKind::kReceive, 0, 5, 8), collective(9, Operation::kAllReduce, 64, {4})}});
  EXPECT_EQ(result.problems.count(), 0U) << to_json(result);
  EXPECT_EQ(result.problems.exit_code(), 0);
  EXPECT_EQ(result.messages, 1U);
  EXPECT_EQ(result.collectives, 1U);
}

TEST_F(TraceChecks, CyclesAreNamedNodeByNode) {
  const TraceCheck result =
      check({{op_of(1, OpKind::kCompute, {3}), op_of(2, OpKind::kCompute, {1}),
              op_of(3, OpKind::kCompute, {2}), op_of(4, OpKind::kCompute, {3}), op_of(5, OpKind::kCompute)}});
  expect_one(result, ProblemKind::kCycle,
             "rank 0: node 1 'n1' waits for node 3 'n3' waits for node 2 'n2' waits for node 1: a cycle of 3",
             3);
  EXPECT_EQ(result.problems.listed()[0].nodes.size(), 3U);
}

TEST_F(TraceChecks, EveryCycleOfItsOwn) {
  const TraceCheck result = check({{op_of(1, OpKind::kCompute, {1}), op_of(2, OpKind::kCompute, {3}),
                                    op_of(3, OpKind::kCompute, {2, 1})}});
  EXPECT_EQ(result.problems.count(), 2U) << to_json(result);
}

TEST_F(TraceChecks, DependenciesAndIdsMustExistOnce) {
  expect_one(check({{op_of(1, OpKind::kCompute, {7})}}), ProblemKind::kMissingDependency,
             "node 1 'n1' depends on node 7, which does not exist", 2);
  expect_one(check({{op_of(1, OpKind::kCompute), op_of(1, OpKind::kCompute)}}), ProblemKind::kDuplicateId,
             "id 1", 2);
}

TEST_F(TraceChecks, MessagesMustMeet) {
  expect_one(check({{message(1, OpKind::kSend, 1, 5, 8)}, {}}), ProblemKind::kMissingPeer,
             "rank 0: node 1 'n1' sends 8 B to rank 1 with tag 5, which nobody there receives", 3);
  expect_one(check({{}, {message(1, OpKind::kReceive, 0, 5, 8), message(2, OpKind::kReceive, 0, 5, 8)}}),
             ProblemKind::kMissingPeer,
             "expects 8 B from rank 0 with tag 5, which nobody there sends (and 1 more", 3);
  expect_one(check({{message(1, OpKind::kSend, 1, 5, 8)}, {message(2, OpKind::kReceive, 0, 5, 9)}}),
             ProblemKind::kSizeMismatch,
             "rank 0 sends 8 B to rank 1 with tag 5 (node 1 'n1'), which expects 9 B", 3);
  expect_one(check({{message(1, OpKind::kSend, 2, 5, 8)}, {}}), ProblemKind::kNoSuchRank, "sends to rank 2",
             2);
}

TEST_F(TraceChecks, MessagesAreMatchedInOrder) {
  // The file has them the other way round; node 2 runs first.
  Op second = message(1, OpKind::kReceive, 0, 5, 9);
  second.data_deps = {2};
  const TraceCheck result = check({{message(1, OpKind::kSend, 1, 5, 8), message(2, OpKind::kSend, 1, 5, 9)},
                                   {second, message(2, OpKind::kReceive, 0, 5, 8)}});
  EXPECT_EQ(result.problems.count(), 0U) << to_json(result);
}

TEST_F(TraceChecks, RanksMustAgreeOnCollectives) {
  const Op a = collective(1, Operation::kAllReduce, 64);
  const Op b = collective(2, Operation::kAllGather, 64, {1});
  expect_one(check({{a, b}, {a}}), ProblemKind::kSequenceMismatch,
             "all ranks: rank 1 has 1 of the 2 collectives of rank 0; the first it lacks is all_gather", 3);
  expect_one(check({{a}, {a, b}}), ProblemKind::kSequenceMismatch, "rank 1 has all_gather", 3);
  expect_one(
      check({{a, b},
             {collective(1, Operation::kAllGather, 64), collective(2, Operation::kAllReduce, 64, {1})}}),
      ProblemKind::kSequenceMismatch,
      "collective 1 is all_reduce of 64 B (node 1 'n1') on rank 0 but all_gather of 64 B (node 1 'n1') on "
      "rank 1",
      3);
  expect_one(check({{a}, {collective(1, Operation::kAllReduce, 32)}}), ProblemKind::kSizeMismatch, "of 32 B",
             3);
  expect_one(check({{a}, {}}), ProblemKind::kSequenceMismatch, "rank 1 has 0 of the 1", 3);
}

TEST_F(TraceChecks, GroupsMustExistAndListTheirRanks) {
  Op a = collective(1, Operation::kAllReduce, 64);
  a.group = "tp";
  expect_one(check({{a}, {}}), ProblemKind::kNoSuchGroup, "uses group 'tp'", 2);
  expect_one(check({{}, {a}}, R"({"tp": [0]})"), ProblemKind::kNotInGroup, "does not list the rank", 2);
  EXPECT_EQ(check({{a}, {}}, R"({"tp": [0]})").problems.count(), 0U);
  EXPECT_THROW(static_cast<void>(check({{a}, {}}, R"({"tp": [5]})")), InputError);
}

TEST_F(TraceChecks, WhatCannotBeReadIsOneProblem) {
  EXPECT_EQ(check({{}, {}}).problems.count(), 0U);
  folder_.write("t.1.et", "garbage");
  const TraceCheck result = trace_check(folder_.path("t"));
  expect_one(result, ProblemKind::kUnreadable, "t.1.et: byte 0: ", 2);
}

TEST_F(TraceChecks, NodesThatLackSomethingAreListed) {
  const std::string path = folder_.write(
      "one.json", R"({"nodes": [{"id": 1, "type": "COMM_SEND_NODE"}, {"id": 2, "type": "COMM_RECV_NODE"}]})");
  const TraceCheck result = trace_check(path);
  EXPECT_TRUE(result.is_single);
  ASSERT_EQ(result.problems.count(), 2U);
  EXPECT_THAT(result.problems.listed()[0].message, HasSubstr("node 1 '': comm_dst: missing"));
  EXPECT_EQ(result.problems.exit_code(), 2);
}

TEST_F(TraceChecks, ProblemsAreBounded) {
  std::vector<Op> ops;
  for (std::uint64_t i = 0; i < 1000; ++i) ops.push_back(op_of(i, OpKind::kCompute, {5000}));
  const TraceCheck result = check({ops});
  EXPECT_EQ(result.problems.count(), 1000U);
  EXPECT_EQ(result.problems.listed().size(), TraceProblems::kListed);
}

TEST_F(TraceChecks, ConvertedTracesAreTheSame) {
  EXPECT_EQ(check({{op_of(1, OpKind::kCompute)}, {op_of(2, OpKind::kCompute)}}).problems.count(), 0U);
  for (const std::string form : {"json", "json.gz", "et.gz", "et"}) {
    const std::vector<ConvertedFile> there = convert_traces(folder_.path("t"), folder_.path("x"), form);
    ASSERT_EQ(there.size(), 2U);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const std::string back = folder_.path("back." + std::to_string(rank) + ".et");
      EXPECT_EQ(convert_traces(there[rank].output, back, "")[0].nodes, 1U);
      EXPECT_EQ(read_file(back, 1000), read_file(folder_.path("t." + std::to_string(rank) + ".et"), 1000));
      std::filesystem::remove(there[rank].output);
    }
  }
  EXPECT_THROW(static_cast<void>(convert_traces(folder_.path("t.0.et"), folder_.path("y"), "")), InputError);
  EXPECT_THROW(static_cast<void>(convert_traces(folder_.path("t"), folder_.path("y"), "xml")), InputError);
  EXPECT_THROW(static_cast<void>(convert_traces(folder_.path("t"), folder_.path("t"), "et")), InputError);
}

}  // namespace
}  // namespace orrery::app
