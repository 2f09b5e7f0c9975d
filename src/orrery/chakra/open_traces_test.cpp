// SPDX-License-Identifier: Apache-2.0
// Goal: files are found by prefix, folder and name, groups resolved, and every way in which a set of files can be wrong
// has an answer.
#include "orrery/chakra/open_traces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orrery/base/byte_sink.hpp"
#include "orrery/base/error.hpp"
#include "orrery/chakra/testing/samples.hpp"
#include "orrery/testing/temporary_folder.hpp"

namespace orrery::chakra {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using workload::Op;
using workload::Rank;

void write(const std::string& path, const std::string& bytes) {
  const auto sink = open_sink(path);
  sink->write(bytes);
  sink->commit();
}

std::vector<Op> ops_of(const workload::Workload& work, Rank rank) {
  std::vector<Op> ops;
  const auto source = work.open(rank);
  for (Op op; source->next(op);) ops.push_back(op);
  return ops;
}

Node collective(const std::string& group) {
  return test::node_of(1, "c", NodeType::kCommColl,
                       {Attribute::of_int64("comm_type", 5), Attribute::of_int64("comm_size", 1),
                        Attribute::of_string("pg_name", group)});
}

Node groups(const std::string& json) {
  Node node = test::node_of(0, "groups", NodeType::kMetadata);
  node.inputs = IoInfo{.values = json};
  return node;
}

class OpenTraces : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return folder_.path(name); }
  void add(const std::string& name, const std::vector<Node>& nodes) {
    write(at(name), test::et_bytes({}, nodes));
  }
  orrery::test::TemporaryFolder folder_;
};

TEST_F(OpenTraces, ByPrefixFolderAndName) {
  for (const char* name : {"t.0.et", "t.1.et", "t.10.et"}) add(name, {});
  EXPECT_THAT([&] { static_cast<void>(open_traces(at("t"))); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("files of rank 2, 3, 4"), HasSubstr("highest rank found is 10"))));
  for (int rank = 2; rank < 10; ++rank) add("t." + std::to_string(rank) + ".et", {});
  write(at("notes.txt"), "x");
  EXPECT_EQ(open_traces(at("t")).ranks, 11U);
  const workload::Workload work = open_traces(folder_.path());
  EXPECT_EQ(work.ranks, 11U);
  EXPECT_EQ(work.name, "t");
  EXPECT_EQ(open_traces(at("t.3.et")).ranks, 1U);
  EXPECT_THAT([&] { static_cast<void>(open_traces(at("tt"))); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("no such trace"), HasSubstr("did you mean 't'?"))));
  add("other.0.et", {});
  EXPECT_THAT([&] { static_cast<void>(open_traces(folder_.path())); },
              ThrowsMessage<InputError>(HasSubstr("other, t")));
  EXPECT_THAT([&] { static_cast<void>(open_traces(at("no/such"))); },
              ThrowsMessage<InputError>(HasSubstr("no such folder")));
}

TEST_F(OpenTraces, CompressedFilesReadTheSame) {
  const std::vector<Node> nodes = test::sample_nodes();
  write(at("z.0.et.gz"), test::et_bytes({}, nodes));
  write(at("z.1.et.gz"), test::et_bytes({}, {}));
  const std::vector<Op> ops = ops_of(open_traces(at("z")), 0);
  ASSERT_EQ(ops.size(), nodes.size());
  EXPECT_EQ(ops[4].flops, 1'000'000U);
}

TEST_F(OpenTraces, GroupsOfMetadataAndFile) {
  const std::string json = R"([{"pg_name": "4", "ranks": [1, 2]}, {"pg_name": "all", "ranks": []}])";
  add("g.0.et", {groups(json), collective("all")});
  add("g.1.et", {groups(json), collective("4")});
  add("g.2.et", {collective("4"), collective("mine")});
  const workload::Workload work = open_traces(at("g"));
  EXPECT_EQ(work.groups, (workload::Groups{{"4", {1, 2}}, {"all", {0, 1, 2}}}));
  const std::vector<Op> ops = ops_of(work, 1);
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].kind, workload::OpKind::kNone);
  EXPECT_EQ(ops[1].group, "4");
  EXPECT_EQ(ops[1].root, 1U);  // Nothing says otherwise: the first of the group.
  EXPECT_THAT([&] { ops_of(work, 2); },
              ThrowsMessage<InputError>(HasSubstr("pg_name: 'mine': no such process group")));
  write(at("groups.txt"), R"({"mine": [2, 0], "4": [0, 1, 2]})");
  const workload::Workload named = open_traces(at("g"), at("groups.txt"));
  EXPECT_EQ(ops_of(named, 2)[1].root, 2U);
  EXPECT_EQ(named.groups.at("4"), (std::vector<Rank>{0, 1, 2}));
  write(at("groups.txt"), R"({"mine": [2, 3]})");
  EXPECT_THAT([&] { static_cast<void>(open_traces(at("g"), at("groups.txt"))); },
              ThrowsMessage<InputError>(HasSubstr("mine[1]: '3': expected a rank, 0 to 2")));
}

TEST_F(OpenTraces, OneNameForTwoGroups) {
  for (int rank = 0; rank < 4; ++rank) {
    const std::string json =
        rank < 2 ? R"([{"pg_name": "p", "ranks": [0, 1]}])" : R"([{"pg_name": "p", "ranks": [2, 3]}])";
    add("p." + std::to_string(rank) + ".et", {groups(json), collective("p")});
  }
  const workload::Workload work = open_traces(at("p"));
  EXPECT_EQ(work.groups.at(ops_of(work, 0)[1].group), (std::vector<Rank>{0, 1}));
  EXPECT_EQ(work.groups.at(ops_of(work, 3)[1].group), (std::vector<Rank>{2, 3}));
}

TEST_F(OpenTraces, PeersMustExist) {
  add("s.0.et", {test::node_of(1, "s", NodeType::kCommSend,
                               {Attribute::of_int64("comm_dst", 2), Attribute::of_int64("comm_tag", 0),
                                Attribute::of_int64("comm_size", 1)})});
  add("s.1.et", {});
  EXPECT_THAT([&] { ops_of(open_traces(at("s")), 0); },
              ThrowsMessage<InputError>(HasSubstr("comm_dst: '2': no such rank: the trace has 2 (0 to 1)")));
  EXPECT_EQ(ops_of(open_traces(at("s.0.et")), 0).size(), 1U);  // Alone, nothing is known of the others.
}

TEST_F(OpenTraces, FoldersAreNoFiles) {
  std::filesystem::create_directory(at("f.0.et"));
  EXPECT_THAT([&] { static_cast<void>(open_traces(at("f"))); },
              ThrowsMessage<InputError>(HasSubstr("not a regular file")));
}

}  // namespace
}  // namespace orrery::chakra
