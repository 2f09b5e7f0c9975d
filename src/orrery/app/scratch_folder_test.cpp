// SPDX-License-Identifier: Apache-2.0
// Goal: folders go with their owner, and those of killed owners with the next one; those in use stay.
#include "orrery/app/scratch_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace orrery::app {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, GoesWithItsOwner) {
  std::string path;
  {
    const ScratchFolder folder{"test"};
    path = folder.path();
    std::ofstream{path + "/file"} << "x";
    const ScratchFolder other{"test"};
    EXPECT_TRUE(fs::exists(path + "/file")) << "one in use was taken for an orphan";
    EXPECT_NE(other.path(), path);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchFolder, OrphansGoWithTheNextOne) {
  const ScratchFolder names{"test-names"};
  const std::string file = names.path() + "/path";
  const pid_t child = ::fork();
  if (child == 0) {
    const ScratchFolder folder{"test"};
    std::ofstream{folder.path() + "/file"} << "x";
    std::ofstream{file} << folder.path();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::string path;
  std::ifstream{file} >> path;
  ASSERT_TRUE(fs::exists(path + "/file"));
  const ScratchFolder next{"test"};
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace orrery::app
