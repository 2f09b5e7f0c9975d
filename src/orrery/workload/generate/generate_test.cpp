// SPDX-License-Identifier: Apache-2.0
// Goal: made workloads are what their formulas say, and run to their end on any number of streams.
#include "orrery/workload/generate/generate.hpp"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "orrery/workload/generate/schedule.hpp"
#include "orrery/workload/generate/summary.hpp"
#include "orrery/workload/testing/replayed.hpp"

namespace orrery::workload::generate {
namespace {

using collectives::Operation;

constexpr const char* kSmall = "layers=4,hidden=64,heads=4,kv_heads=2,ffn=96,vocab=101,seq=32";
// As good as no network: the test models have messages of a few kB.
constexpr const char* kIdeal = "star:hosts=32,bandwidth=1000000GBps,latency=0s";

Recipe recipe(const std::string& settings) { return parse_recipe("make:" + settings, "test"); }
Recipe small(const std::string& settings) { return recipe(std::string{kSmall} + "," + settings); }

std::vector<Op> ops_of(const Workload& workload, Rank rank) {
  std::vector<Op> ops;
  const auto source = workload.open(rank);
  for (Op op; source->next(op);) ops.push_back(op);
  return ops;
}

std::string error_of(const std::string& settings) {
  try {
    static_cast<void>(recipe(settings));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(Model, ParametersAreThosePublished) {
  const std::map<std::string, std::int64_t> published{
      {"gpt-3-175b", 174'604'259'328},  {"llama-2-7b", 6'738'415'616},   {"llama-2-70b", 68'976'648'192},
      {"llama-3-8b", 8'030'261'248},    {"llama-3-70b", 70'553'706'496}, {"llama-3-405b", 405'853'388'800},
      {"mixtral-8x7b", 46'702'792'704},
  };
  for (const auto& [name, count] : published) {
    EXPECT_EQ(parameters(recipe("model=" + name).model), count) << name;
  }
}

TEST(Schedule, OneForwardOneBackward) {
  const std::vector<Pass> expected{{0, false}, {1, false}, {0, true}, {2, false}, {1, true}, {2, true}};
  EXPECT_EQ(one_forward_one_backward(2, 4, 3), expected);
  EXPECT_EQ(one_forward_one_backward(0, 8, 2), gpipe(2));
}

TEST(Schedule, BothDoEveryPassOnceAndForwardFirst) {
  for (std::int64_t stages = 1; stages <= 5; ++stages) {
    for (std::int64_t count = 1; count <= 7; ++count) {
      for (std::int64_t stage = 0; stage < stages; ++stage) {
        std::map<std::int64_t, int> state;
        for (const Pass& pass : one_forward_one_backward(stage, stages, count)) {
          EXPECT_EQ(state[pass.micro_batch]++, pass.is_backward ? 1 : 0);
        }
        EXPECT_EQ(state.size(), static_cast<std::size_t>(count));
      }
    }
  }
}

/// Idle time of all ranks over all of the time.
double replayed_bubble(const std::string& settings) {
  const Recipe made = small(settings);
  const test::Replayed replayed = test::replay(make_workload(made), {.cluster = kIdeal});
  double idle = 0;
  const auto total = static_cast<double>(count_ps(replayed.total));
  for (const RankTimes& rank : replayed.ranks) idle += total - static_cast<double>(count_ps(rank.compute));
  return idle / total / static_cast<double>(replayed.ranks.size());
}

TEST(Pipeline, BubbleIsTheClosedForm) {
  for (const char* schedule : {"1f1b", "gpipe"}) {
    for (const auto& [stages, count] : {std::pair{1, 3}, {2, 1}, {2, 5}, {4, 2}, {4, 4}, {4, 16}}) {
      const std::string settings =
          fmt::format("pp={},batch={},op_time=3ms,schedule={}", stages, count, schedule);
      EXPECT_NEAR(replayed_bubble(settings), bubble_fraction(stages, count), 1e-6) << settings;
    }
  }
}

TEST(Pipeline, TensorAndDataParallelStagesKeepTheBubble) {
  for (const char* more : {"tp=2", "dp=2", "tp=2,sequence_parallel=true,dp=2", "cp=2", "zero=1,dp=2"}) {
    const std::string settings = fmt::format("pp=4,batch=16,op_time=3ms,{}", more);
    const std::int64_t count = small(settings).micro_batches;
    EXPECT_NEAR(replayed_bubble(settings), bubble_fraction(4, count), 1e-4) << settings;
  }
}

const std::vector<std::string> kCases{
    "tp=2",
    "tp=2,sequence_parallel=true,pp=2,batch=4",
    "pp=4,batch=8,schedule=gpipe",
    "pp=2,dp=2,batch=8,zero=1",
    "dp=4,batch=8,zero=2,overlap=false",
    "dp=4,batch=8,zero=3,recompute=full",
    "tp=2,dp=2,batch=4,zero=3,detail=block,steps=2",
    "tp=2,pp=2,dp=2,batch=4,tied_embeddings=true,gated=false,biases=true,norm=layer,positions=32,steps=3",
    "cp=4,batch=2",
    "cp=4,batch=2,context=gather,recompute=selective",
    "cp=2,tp=2,pp=2,dp=2,batch=4,mask=causal,recompute=selective,zero=1,steps=2",
    "experts=4,dp=4,ep=2,batch=4,zero=1",
    "experts=4,tp=2,dp=2,ep=2,pp=2,batch=4,sequence_parallel=true",
    "experts=4,tp=2,dp=4,ep=4,batch=4,zero=3,recompute=full",
    "mode=prefill,tp=2,pp=2,dp=2,batch=8,micro_batch=2",
    "mode=prefill,cp=4,tp=2,sequence_parallel=true,batch=2",
    "mode=decode,tp=2,pp=4,batch=8,micro_batch=2,steps=3",
    "mode=decode,cp=2,dp=2,ep=2,experts=4,batch=8,steps=2",
};

/// Collectives of each group and messages of each pair, in the order of every rank's operations.
void expect_agreement(const Workload& workload, const std::string& settings) {
  std::map<std::string, std::map<Rank, std::vector<std::pair<Operation, std::int64_t>>>> calls;
  std::map<std::tuple<Rank, Rank, std::int64_t>, std::vector<std::int64_t>> sent;
  std::map<std::tuple<Rank, Rank, std::int64_t>, std::vector<std::int64_t>> received;
  for (Rank rank = 0; rank < workload.ranks; ++rank) {
    std::uint64_t last = 0;
    for (const Op& op : ops_of(workload, rank)) {
      EXPECT_GT(op.id, last);
      for (const std::uint64_t id : op.data_deps) EXPECT_LT(id, op.id);
      for (const std::uint64_t id : op.control_deps) EXPECT_LT(id, op.id);
      last = op.id;
      if (op.kind == OpKind::kCollective) {
        calls[op.group][rank].emplace_back(op.operation, op.size.count());
      } else if (op.kind == OpKind::kSend) {
        sent[{rank, op.peer, op.tag}].push_back(op.size.count());
      } else if (op.kind == OpKind::kReceive) {
        received[{op.peer, rank, op.tag}].push_back(op.size.count());
      }
    }
  }
  EXPECT_EQ(sent, received) << settings;
  for (const auto& [key, sizes] : sent) EXPECT_EQ(sizes.size(), 1U) << "tags are used once: " << settings;
  for (const auto& [group, by_rank] : calls) {
    const std::vector<Rank>& ranks = workload.groups.at(group);
    EXPECT_EQ(by_rank.size(), ranks.size()) << settings;
    for (const Rank rank : ranks) EXPECT_EQ(by_rank.at(rank), by_rank.at(ranks.front())) << settings << group;
  }
  EXPECT_EQ(calls.size(), workload.groups.size()) << "every group is used: " << settings;
}

TEST(Generate, RanksAgreeAndRunToTheEnd) {
  for (const std::string& settings : kCases) {
    const Workload workload = make_workload(small(settings));
    expect_agreement(workload, settings);
    for (const std::uint32_t streams : {1U, 2U, 0U}) {
      test::Options options{.cluster = "star:hosts=32,bandwidth=10GBps,latency=2us,device=h100_sxm"};
      options.streams.communication = streams;
      const test::Replayed replayed = test::replay(workload, options);
      EXPECT_GT(count_ps(replayed.total), 0) << settings;
    }
  }
}

TEST(Generate, SameSettingsGiveTheSame) {
  for (const std::string& settings : kCases) {
    EXPECT_EQ(summarize(small(settings)).digest, summarize(small(settings)).digest);
  }
  EXPECT_NE(summarize(small("tp=2")).digest, summarize(small("tp=2,batch=2")).digest);
}

TEST(Generate, DetailChangesOperationsButNoSums) {
  for (const std::string& settings : kCases) {
    if (settings.find("detail") != std::string::npos) continue;
    const Summary fine = summarize(small(settings));
    const Summary coarse = summarize(small(settings + ",detail=block"));
    EXPECT_EQ(fine.exact_flops, coarse.exact_flops) << settings;
    EXPECT_GT(fine.operations, coarse.operations) << settings;
    ASSERT_EQ(fine.communication.size(), coarse.communication.size());
    for (std::size_t i = 0; i < fine.communication.size(); ++i) {
      EXPECT_EQ(fine.communication[i].bytes, coarse.communication[i].bytes) << settings;
    }
  }
}

TEST(Generate, DeviceGivesDurations) {
  const Workload workload = make_workload(recipe("model=llama-3-8b,tp=8,device=h100_sxm,efficiency=0.5"));
  for (const Op& op : ops_of(workload, 0)) {
    if (op.kind != OpKind::kCompute) continue;
    const double computing = static_cast<double>(op.flops) / (0.5 * 989.4e12);
    const double moving = static_cast<double>(op.tensor.count()) / (0.5 * 3350e9);
    EXPECT_NEAR(static_cast<double>(count_ps(op.recorded)), 1e12 * std::max(computing, moving), 2) << op.name;
  }
}

TEST(Recipe, MistakesAreNamed) {
  EXPECT_NE(error_of("model=llama-3-8").find("did you mean 'llama-3-8b'"), std::string::npos);
  EXPECT_NE(error_of("model=llama-3-8b,tp=3").find("tp: '3': expected a divisor of the number of heads"),
            std::string::npos);
  EXPECT_NE(error_of("model=llama-3-8b,tp=16").find("heads of keys and values"), std::string::npos);
  EXPECT_NE(error_of("model=llama-3-8b,pp=5").find("pp: '5': expected a divisor of the number of layers"),
            std::string::npos);
  EXPECT_NE(error_of("model=llama-3-8b,dp=3,batch=8").find("dp: '3': expected a divisor of batch"),
            std::string::npos);
  EXPECT_NE(error_of("model=llama-3-8b,ep=2,dp=2").find("no experts"), std::string::npos);
  EXPECT_NE(error_of("model=mixtral-8x7b,ep=4,dp=2").find("ep: '4': expected a divisor of dp"),
            std::string::npos);
  EXPECT_NE(error_of("model=llama-3-8b,cp=3").find("divisor of seq"), std::string::npos);
  EXPECT_NE(error_of("model=llama-3-8b,batch=4,micro_batch=3").find("micro_batch: '3'"), std::string::npos);
  EXPECT_NE(error_of("model=llama-3-8b,shedule=gpipe").find("did you mean 'schedule'"), std::string::npos);
  EXPECT_NE(error_of("hidden=64").find("layers"), std::string::npos);
  EXPECT_NE(error_of("model=llama-3-8b,mode=decode,zero=1").find("zero: '1'"), std::string::npos);
  EXPECT_NE(error_of("model=llama-3-8b,efficiency=0.5").find("device"), std::string::npos);
  EXPECT_NE(error_of("model=llama-3-8b,device=h10_sxm").find("did you mean 'h100_sxm'"), std::string::npos);
}

}  // namespace
}  // namespace orrery::workload::generate
