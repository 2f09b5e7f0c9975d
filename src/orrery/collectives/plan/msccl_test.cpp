// SPDX-License-Identifier: Apache-2.0
// Goal: MSCCL programs become schedules that are right and take the time of the same steps planned by us; wrong
// programs are refused with a place.
#include "orrery/collectives/plan/msccl.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/collectives/plan/symbolic_executor.hpp"
#include "orrery/collectives/run/collective_run.hpp"
#include "orrery/collectives/select/selector.hpp"
#include "orrery/testing/temporary_folder.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::collectives::plan {
namespace {

using testing::HasSubstr;

const std::string kFolder = ORRERY_MSCCL_PROGRAMS;
const std::string kRing = kFolder + "/ring_all_reduce_4.xml";
const std::string kGather = kFolder + "/all_gather_4.xml";

std::string write(const std::string& text) {
  static const test::TemporaryFolder folder;
  return folder.write("program.xml", text);
}

std::string changed(const std::string& path, const std::string& from, const std::string& to) {
  std::string text = read_file(path, 1 << 20);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text, Operation operation = Operation::kAllReduce, Rank ranks = 4) {
  const std::string path = write(text);
  try {
    static_cast<void>(read_msccl(path, operation, ranks));
  } catch (const InputError& error) {
    EXPECT_EQ(error.problem().source, path);
    EXPECT_GT(error.problem().position.line, 0) << error.what();
    return error.what();
  }
  return "no error";
}

void expect_right(const Schedule& schedule, Operation operation) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_EQ(symbolic_problem(schedule, {.operation = operation, .ranks = schedule.ranks()}, seed), "");
  }
}

Time time_of(const Schedule& schedule, const EndpointCosts& costs) {
  const topology::Cluster cluster = topology::load_cluster("star:hosts=4,bandwidth=1GBps,latency=500us");
  engine::Engine engine;
  topology::Router router{cluster.graph};
  network::NetworkContext context{engine, router, cluster.jitter, 1};
  std::string name;
  const config::Document settings = config::Document::from_line("flow", "--network", name);
  const network::NetworkRegistry registry = network::builtin_networks();
  const std::unique_ptr<network::NetworkModel> network =
      registry.get(name, "--network").prepare(config::Cursor{settings})(context);
  const Layout layout = Layout::even(Bytes{4'000'000}, schedule.chunk_count());
  CollectiveRun run{{engine, *network, router, schedule, layout, cluster.ranks, {costs}, "test"}};
  for (Rank rank = 0; rank < 4; ++rank) run.arrive(rank);
  engine.run();
  return run.finish();
}

/// An all_reduce of one GPU pair per step list; `blocks` writes the thread blocks of a GPU.
std::string program(const std::string& attributes, Rank gpus, std::uint32_t scratch,
                    const std::function<std::string(Rank)>& blocks) {
  std::string text = fmt::format("<algo name=\"t\" ngpus=\"{}\" {}>\n", gpus, attributes);
  for (Rank gpu = 0; gpu < gpus; ++gpu) {
    text += fmt::format("<gpu id=\"{}\" i_chunks=\"0\" o_chunks=\"0\" s_chunks=\"{}\">\n{}</gpu>\n", gpu,
                        scratch, blocks(gpu));
  }
  return text + "</algo>\n";
}

std::string step(int s, const std::string& type, const std::string& source, int source_offset,
                 const std::string& target, int target_offset, int after_block = -1, int after_step = -1) {
  return fmt::format(
      "<step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"1\" "
      "depid=\"{}\" "
      "deps=\"{}\" hasdep=\"0\"/>\n",
      s, type, source, source_offset, target, target_offset, after_block, after_step);
}

TEST(Msccl, RingIsRightAndTakesTheTimeOfOurs) {
  const auto schedule = read_msccl(kRing, Operation::kAllReduce, 4);
  expect_right(*schedule, Operation::kAllReduce);
  const AlgorithmRegistry registry = builtin_algorithms();
  const auto ours = registry.get("ring").plan({.operation = Operation::kAllReduce, .ranks = 4});
  const EndpointCosts costs{.send_overhead = Duration{1000},
                            .reduce_bandwidth = Bandwidth::bytes_per_second(5'000'000'000)};
  EXPECT_EQ(time_of(*schedule, {}), time_of(*ours, {}));
  EXPECT_EQ(time_of(*schedule, costs), time_of(*ours, costs));
  EXPECT_EQ(schedule->lanes(0), 1U);
}

TEST(Msccl, DependentThreadBlocksShareALane) {
  const auto schedule = read_msccl(kGather, Operation::kAllGather, 4);
  expect_right(*schedule, Operation::kAllGather);
  EXPECT_EQ(schedule->lanes(0), 1U);
  const AlgorithmRegistry registry = builtin_algorithms();
  const auto ours = registry.get("ring").plan({.operation = Operation::kAllGather, .ranks = 4});
  EXPECT_EQ(time_of(*schedule, {}), time_of(*ours, {}));
}

TEST(Msccl, IndependentThreadBlocksHaveTheirOwnLanes) {
  // Everyone to everyone at once: the block of distance d is a lane.
  const std::string path =
      write(program("coll=\"alltoall\" nchunksperloop=\"3\" inplace=\"0\"", 3, 0, [](Rank gpu) {
        const auto self = static_cast<int>(gpu);
        std::string text = "<tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">" +
                           step(0, "cpy", "i", self, "o", self) + "</tb>\n";
        for (int distance = 1; distance < 3; ++distance) {
          const int to = (self + distance) % 3;
          const int from = (self + 3 - distance) % 3;
          text += fmt::format("<tb id=\"{0}\" send=\"{1}\" recv=\"{2}\" chan=\"{0}\">", distance, to, from) +
                  step(0, "s", "i", to, "o", 0) + step(1, "r", "i", 0, "o", from) + "</tb>\n";
        }
        return text;
      }));
  const auto schedule = read_msccl(path, Operation::kAllToAll, 3);
  expect_right(*schedule, Operation::kAllToAll);
  EXPECT_EQ(schedule->lanes(0), 3U);
}

TEST(Msccl, ScratchIsFollowedAndAddedOnArrival) {
  // Reduce-scatter of two: each sends the other's half to its scratch, and a second block adds it there.
  const auto blocks = [](const std::string& wait) {
    return [wait](Rank gpu) {
      const int self = static_cast<int>(gpu);
      const std::string add =
          wait == "none" ? step(0, "re", "s", 0, "i", self) : step(0, "re", "s", 0, "i", self, 0, 1);
      return fmt::format("<tb id=\"0\" send=\"{0}\" recv=\"{0}\" chan=\"0\">", 1 - self) +
             step(0, "s", "i", 1 - self, "s", 0) + step(1, "r", "i", 0, "s", 0) +
             "</tb>\n<tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">" + add +
             step(1, "cpy", "i", self, "o", 0) + "</tb>\n";
    };
  };
  const std::string attributes = "coll=\"reduce_scatter\" nchunksperloop=\"2\" inplace=\"0\"";
  const auto schedule =
      read_msccl(write(program(attributes, 2, 1, blocks("first"))), Operation::kReduceScatter, 2);
  expect_right(*schedule, Operation::kReduceScatter);
  EXPECT_EQ(schedule->action(0, 0, 1).kind, ActionKind::kReceiveReduce);
  // Without the dependency it may add before the data is there.
  EXPECT_THAT(error_of(program(attributes, 2, 1, blocks("none")), Operation::kReduceScatter, 2),
              HasSubstr("tb 1 step 0: reads what nothing was written to"));
}

TEST(Msccl, BadFilesAreRefusedWithAPlace) {
  EXPECT_THAT(error_of("<algo name=\"x\">\n  <gpu id=</algo>"), HasSubstr(".xml:2:"));
  EXPECT_THAT(error_of("<plan/>"), HasSubstr("expected the element <algo>"));
  EXPECT_THAT(error_of(changed(kRing, "type=\"rrs\"", "type=\"rsr\"")),
              HasSubstr(".xml:5:7: gpu 0 tb 0 step 1.type: 'rsr': expected s, r, rcs"));
  EXPECT_THAT(error_of(changed(kRing, "cnt=\"1\"", "cnt=\"99999999999\"")),
              HasSubstr("gpu 0 tb 0 step 0.cnt"));
  EXPECT_THAT(error_of(changed(kRing, "cnt=\"1\"", "cnt=\"2\"")),
              HasSubstr("2 chunks within the 4 of buffer i"));
  EXPECT_THAT(error_of(changed(kRing, "s_chunks=\"0\"", "s_chunks=\"-3\"")),
              HasSubstr("gpu 0.s_chunks: '-3'"));
  EXPECT_THAT(error_of(changed(kRing, "nchunksperloop=\"4\"", "nchunksperloop=\"4294967296\"")),
              HasSubstr("algo.nchunksperloop"));
  EXPECT_THAT(error_of(changed(kRing, " srcbuf=\"i\"", "")), HasSubstr("expected the attribute srcbuf"));
  EXPECT_THAT(error_of(changed(kRing, "send=\"1\"", "send=\"0\"")), HasSubstr("another GPU, or -1"));
  EXPECT_THAT(error_of(changed(kRing, "<gpu id=\"1\"", "<gpu id=\"0\"")), HasSubstr("each id once"));
  EXPECT_THAT(error_of(changed(kRing, "depid=\"-1\" deps=\"-1\"", "depid=\"7\" deps=\"0\"")),
              HasSubstr("'7': expected a tb of this gpu"));
}

TEST(Msccl, OtherGroupsAndOperationsAreRefused) {
  const std::string text = read_file(kRing, 1 << 20);
  EXPECT_THAT(error_of(text, Operation::kAllReduce, 8), HasSubstr("algo.ngpus: '4': expected the group's 8"));
  EXPECT_THAT(error_of(text, Operation::kAllGather), HasSubstr("expected all_gather, which is to be run"));
  EXPECT_THROW(static_cast<void>(read_msccl(kFolder + "/none.xml", Operation::kAllReduce, 4)), InputError);
}

TEST(Msccl, WrongProgramsAreRefusedByStep) {
  // GPU 0 waits for a step of its own that comes later.
  EXPECT_THAT(error_of(changed(kRing, "depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"3\"")),
              HasSubstr("waits forever"));
  // The sum is passed on but not kept, so the output of GPU 0 stays as it was.
  EXPECT_THAT(error_of(changed(kRing, "type=\"rrcs\"", "type=\"rrs\"")),
              HasSubstr("gpu 0: leaves the wrong data in chunk 0"));
  EXPECT_THAT(error_of(changed(kRing, "type=\"rrs\" srcbuf=\"i\" srcoff=\"2\"",
                               "type=\"rrs\" srcbuf=\"i\" srcoff=\"1\"")),
              HasSubstr("gpu 0 tb 0 step 1: adds chunks 2 and 1"));
  EXPECT_THAT(error_of(changed(kRing, "recv=\"3\"", "recv=\"2\"")),
              HasSubstr("where no tb receives from it"));
  EXPECT_THAT(error_of(changed(kGather, "type=\"cpy\" srcbuf=\"i\"", "type=\"cpy\" srcbuf=\"o\""),
                       Operation::kAllGather),
              HasSubstr("gpu 0 tb 0 step 0: reads what nothing was written to"));
}

TEST(Msccl, IsChosenByFileName) {
  const topology::Cluster cluster = topology::load_cluster("star:hosts=4,bandwidth=1GBps,latency=1us");
  topology::Router router{cluster.graph};
  const AlgorithmRegistry algorithms = builtin_algorithms();
  const std::vector<Rank> ranks{0, 1, 2, 3};
  for (const std::string& selection : {kRing, "msccl:" + kRing}) {
    const std::vector<Choice> choices = select(selection + ",ring", {.size = Bytes{1024}},
                                               {cluster, router, algorithms, cluster.ranks, ranks, ""});
    ASSERT_EQ(choices.size(), 2U);
    EXPECT_EQ(choices[0].label, "msccl: ring_all_reduce_4.xml");
    ASSERT_NE(choices[0].schedule, nullptr);
    EXPECT_EQ(choices[0].schedule->ranks(), 4U);
    EXPECT_EQ(choices[1].schedule, nullptr);
  }
}

}  // namespace
}  // namespace orrery::collectives::plan
