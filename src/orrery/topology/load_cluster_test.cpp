// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/load_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::topology {
namespace {

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(load_cluster(text));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(LoadCluster, NamesTheNearestWhenNothingFits) {
  EXPECT_THAT(error_of("stra:hosts=4"), testing::HasSubstr("did you mean 'star'?"));
  EXPECT_THAT(error_of("nowhere.yaml"), testing::AllOf(testing::HasSubstr("--cluster: 'nowhere.yaml': file not found"),
                                                       testing::HasSubstr("rail_optimized")));
}

}  // namespace
}  // namespace orrery::topology
