// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/duration_table.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "orrery/live/rank/key_statistics.hpp"

namespace orrery::live {
namespace {

/// The table as a rank maps it.
class Mapped {
 public:
  explicit Mapped(const DurationTable& table)
      : memory_{::mmap(nullptr, KeyTable::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, table.descriptor(), 0)},
        keys{memory_} {}
  ~Mapped() { ::munmap(memory_, KeyTable::kBytes); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

 private:
  void* memory_;

 public:
  KeyTable keys;
};

class Durations : public testing::Test {
 protected:
  Durations() { ::setenv("ORRERY_CACHE", folder_.c_str(), 1); }
  ~Durations() override {
    ::unsetenv("ORRERY_CACHE");
    std::filesystem::remove_all(folder_);
  }
  const std::string folder_ = testing::TempDir() + "orrery_durations_test_" + std::to_string(::getpid());
};

TEST_F(Durations, AreKeptFromRunToRun) {
  {
    DurationTable first;
    Mapped{first}.keys.find(5).add(70);
  }
  DurationTable second;
  EXPECT_EQ(Mapped{second}.keys.find(5).value(), 70);
}

TEST_F(Durations, BeginAnewWhenThereIsHardlyRoomLeft) {
  DurationTable old;
  Mapped crowded{old};
  for (std::uint64_t key = 1; key <= KeyTable::kEntries * 4 / 5; ++key) crowded.keys.find(key).add(1);
  DurationTable next;
  EXPECT_EQ(Mapped{next}.keys.size(), 0U);
  EXPECT_GT(crowded.keys.size(), 0U) << "a run under way keeps what it has";
}

}  // namespace
}  // namespace orrery::live
