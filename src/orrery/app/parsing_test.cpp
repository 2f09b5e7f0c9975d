// SPDX-License-Identifier: Apache-2.0
// Sizes, groups, element types and network settings as users write them.
#include <gmock/gmock.h>

#include "orrery/app/element_type.hpp"
#include "orrery/app/network_choice.hpp"
#include "orrery/app/rank_group.hpp"
#include "orrery/app/size_list.hpp"
#include "orrery/base/error.hpp"
#include "orrery/testing/temporary_folder.hpp"

namespace orrery::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> sizes(const std::string& text) {
  std::vector<std::int64_t> counts;
  for (const Bytes size : parse_sizes(text, "--size")) counts.push_back(size.count());
  return counts;
}

template <class Call>
std::string error_of(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SizeList, OneSizeAndLists) {
  EXPECT_THAT(sizes("3MB"), ElementsAre(3'000'000));
  EXPECT_THAT(sizes("1KiB, 3MB,0B"), ElementsAre(1024, 3'000'000, 0));
}

TEST(SizeList, RangesDoubleUnlessTold) {
  EXPECT_THAT(sizes("1KiB..8KiB"), ElementsAre(1024, 2048, 4096, 8192));
  EXPECT_THAT(sizes("1KiB..9KiB"), ElementsAre(1024, 2048, 4096, 8192));
  EXPECT_THAT(sizes("1KiB..64KiB:x4"), ElementsAre(1024, 4096, 16384, 65536));
  EXPECT_THAT(sizes("1MB..2MB:+500kB"), ElementsAre(1'000'000, 1'500'000, 2'000'000));
  EXPECT_THAT(sizes("1B..3B:x1.1"), ElementsAre(1, 2, 3));
  EXPECT_EQ(sizes("1KiB..1GiB").size(), 21U);
}

TEST(SizeList, MistakesNameTheOptionAndTheValue) {
  const auto error = [](const std::string& text) {
    return error_of([&] { return parse_sizes(text, "--size"); });
  };
  EXPECT_THAT(error("5"), HasSubstr("--size: '5': expected a size with its unit"));
  EXPECT_THAT(error(""), HasSubstr("expected a size"));
  EXPECT_THAT(error("-1KiB"), HasSubstr("expected a size"));
  EXPECT_THAT(error("8KiB..1KiB"), HasSubstr("ends before it begins"));
  EXPECT_THAT(error("0B..1KiB"), HasSubstr("zero does not grow"));
  EXPECT_THAT(error("1KiB..1GiB:x1"), HasSubstr("factor above 1"));
  EXPECT_THAT(error("1KiB..1GiB:2"), HasSubstr("':x2'"));
  EXPECT_THAT(error("1B..1GiB:+1B"), HasSubstr("more than 1000 sizes"));
  EXPECT_THAT(error("1B..1GiB:+0B"), HasSubstr("must grow"));
  EXPECT_THAT(error("9000000TiB"), HasSubstr("expected a size"));
  EXPECT_THAT(error("9000TiB"), HasSubstr("at most 1024TiB"));
}

TEST(RankGroup, ReadsAndWrites) {
  EXPECT_THAT(parse_group("0,2,4-7", 8, "--group"), ElementsAre(0, 2, 4, 5, 6, 7));
  EXPECT_THAT(parse_group("3-1, 0", 8, "--group"), ElementsAre(3, 2, 1, 0));
  EXPECT_EQ(group_text({0, 1, 2, 3, 6, 8, 9}), "0-3,6,8-9");
}

TEST(RankGroup, MistakesNameTheRank) {
  const auto error = [](const std::string& text) {
    return error_of([&] { return parse_group(text, 8, "--group"); });
  };
  EXPECT_THAT(error("0,8"), HasSubstr("'8': the cluster has ranks 0 to 7"));
  EXPECT_THAT(error("0-99999999999999999999"), HasSubstr("expected ranks"));
  EXPECT_THAT(error("0,1-3,2"), HasSubstr("rank 2 stands twice"));
  EXPECT_THAT(error("-1"), HasSubstr("expected ranks"));
  EXPECT_THAT(error("a"), HasSubstr("expected ranks"));
  EXPECT_THAT(error("0,,1"), HasSubstr("expected ranks"));
}

TEST(ElementType, NamesAndShortForms) {
  EXPECT_EQ(parse_element_type("bf16", "--dtype").name, "bfloat16");
  EXPECT_EQ(parse_element_type("float64", "--dtype").size, Bytes{8});
  EXPECT_FALSE(parse_element_type("int8", "--dtype").is_floating);
  EXPECT_THAT(error_of([] { return parse_element_type("flaot32", "--dtype"); }),
              HasSubstr("did you mean 'float32'"));
}

TEST(NetworkChoice, SettingsFromALineAndFromAFile) {
  const network::NetworkRegistry registry = network::builtin_networks();
  const NetworkChoice line = choose_network("flow:resolve_delay=1us", registry, "--network");
  const test::TemporaryFolder folder;
  const std::string path = folder.write("network.yaml", "flow: {resolve_delay: 1us}\n");
  EXPECT_EQ(choose_network(path, registry, "--network").resolved, line.resolved);
  EXPECT_THAT(line.resolved, HasSubstr("resolve_delay: 1us"));
  folder.write("network.yaml", "flow:\n");
  EXPECT_EQ(choose_network(path, registry, "--network").resolved,
            choose_network("flow", registry, "").resolved);
  folder.write("network.yaml", "flwo: {}\n");
  EXPECT_THAT(error_of([&] { return choose_network(path, registry, "--network"); }),
              HasSubstr("did you mean 'flow'"));
}

}  // namespace
}  // namespace orrery::app
