// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/trace_json.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/testing/temporary_folder.hpp"
#include "orrery/timeline/ring_sample.hpp"
#include "orrery/timeline/timeline_file.hpp"

namespace orrery::timeline {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLimit = 1U << 24;

class TimelineFileTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] std::string written(const Recorder& recorder, const std::string& name) const {
    write_timeline(recorder, test::ring_manifest(), path(name));
    return read_file(path(name), kLimit);
  }
  /// The events of a trace, one a line, without the head and the names.
  [[nodiscard]] std::string events(const Recorder& recorder) const {
    std::string lines;
    std::istringstream text{written(recorder, "t.json")};
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("{\"ph\"") && !line.starts_with("{\"ph\":\"M\"")) lines += line + "\n";
    }
    return lines;
  }
  orrery::test::TemporaryFolder folder_;
};

TEST_F(TimelineFileTest, ExactBytesOfASmallTrace) {
  Recorder recorder;
  const TrackId rank = recorder.track("ranks", "rank 0");
  const TrackId other = recorder.track("ranks", "rank 1");
  const TrackId link = recorder.track("links", "a->b");
  recorder.span(rank, "send", Time{1us}, Time{3500ns}, "4KiB");
  recorder.span(other, "add", Time{3500ns}, Time{4us}, "");
  recorder.flow(rank, Time{1us}, other, Time{3500ns});
  recorder.counter(link, "GB/s", Time{1us}, 12.5);
  EXPECT_EQ(written(recorder, "t.json"), R"({"displayTimeUnit":"ns","otherData":)" +
                                             to_json(test::ring_manifest()).dump() + R"(,"traceEvents":[
{"ph":"M","pid":1,"tid":1,"ts":0,"name":"process_name","args":{"name":"ranks"}},
{"ph":"M","pid":1,"tid":1,"ts":0,"name":"process_sort_index","args":{"sort_index":1}},
{"ph":"M","pid":2,"tid":2,"ts":0,"name":"process_name","args":{"name":"links"}},
{"ph":"M","pid":2,"tid":2,"ts":0,"name":"process_sort_index","args":{"sort_index":2}},
{"ph":"M","pid":1,"tid":1000,"ts":0,"name":"thread_name","args":{"name":"rank 0"}},
{"ph":"M","pid":1,"tid":1000,"ts":0,"name":"thread_sort_index","args":{"sort_index":1000}},
{"ph":"M","pid":1,"tid":1001,"ts":0,"name":"thread_name","args":{"name":"rank 1"}},
{"ph":"M","pid":1,"tid":1001,"ts":0,"name":"thread_sort_index","args":{"sort_index":1001}},
{"ph":"X","pid":1,"tid":1000,"ts":1,"dur":2.5,"name":"send","args":{"detail":"4KiB"}},
{"ph":"X","pid":1,"tid":1001,"ts":3.5,"dur":0.5,"name":"add"},
{"ph":"s","pid":1,"tid":1000,"ts":1,"cat":"flow","name":"flow","id":1},
{"ph":"f","pid":1,"tid":1001,"ts":3.5,"bp":"e","cat":"flow","name":"flow","id":1},
{"ph":"C","pid":2,"tid":2,"ts":1,"name":"a->b","args":{"GB/s":12.5}}
]}
)");
}

TEST_F(TimelineFileTest, PicosecondsAreExactAndTheViewersRoundingIsForeseen) {
  Recorder recorder;
  const TrackId rank = recorder.track("ranks", "rank 0");
  recorder.span(rank, "a", Time{picoseconds(1'234'567)}, Time{picoseconds(2'345'678)}, "");
  // Begin and duration would round to 3001 + 2 ns, the end to 3002 ns.
  recorder.span(rank, "b", Time{picoseconds(3'000'600)}, Time{picoseconds(3'002'200)}, "why");
  EXPECT_EQ(events(recorder),
            R"({"ph":"X","pid":1,"tid":1000,"ts":1.234567,"dur":1.111111,"name":"a"},
{"ph":"X","pid":1,"tid":1000,"ts":3.0006,"dur":0.001,"name":"b","args":{"duration_ps":1600,"detail":"why"}}
)");
}

TEST_F(TimelineFileTest, OverlappingSpansGetANumberedRow) {
  Recorder recorder;
  const TrackId link = recorder.track("links", "a->b");
  recorder.span(link, "x", Time{}, Time{2us}, "");
  recorder.span(link, "y", Time{1us}, Time{3us}, "");
  const std::string text = written(recorder, "t.json");
  EXPECT_NE(text.find(R"x("tid":1001,"ts":0,"name":"thread_name","args":{"name":"a->b (2)"})x"),
            std::string::npos);
  EXPECT_NE(text.find(R"({"ph":"X","pid":1,"tid":1001,"ts":1,"dur":2,"name":"y"})"), std::string::npos);
}

TEST_F(TimelineFileTest, IdleEndsOfAnArrowGetMarks) {
  Recorder recorder;
  const TrackId from = recorder.track("ranks", "rank 0");
  const TrackId to = recorder.track("ranks", "rank 1");
  recorder.flow(from, Time{1us}, to, Time{2us});
  EXPECT_EQ(events(recorder),
            R"({"ph":"X","pid":1,"tid":1000,"ts":1,"dur":0,"name":"sent"},
{"ph":"s","pid":1,"tid":1000,"ts":1,"cat":"flow","name":"flow","id":1},
{"ph":"X","pid":1,"tid":1001,"ts":2,"dur":0,"name":"received"},
{"ph":"f","pid":1,"tid":1001,"ts":2,"bp":"e","cat":"flow","name":"flow","id":1}
)");
}

TEST_F(TimelineFileTest, StrangeNamesStayValidJson) {
  Recorder recorder;
  const TrackId rank = recorder.track("a\"b\\c", "µ\n");
  recorder.span(rank, "bad \xff byte", Time{}, Time{1us}, "\t");
  const auto trace = nlohmann::json::parse(written(recorder, "t.json"));
  EXPECT_EQ(trace["traceEvents"][0]["args"]["name"], "a\"b\\c");
  EXPECT_EQ(trace["traceEvents"][2]["args"]["name"], "µ\n");
  EXPECT_EQ(trace["traceEvents"].back()["name"], "bad \xEF\xBF\xBD byte");
}

TEST_F(TimelineFileTest, EmptyTimelineIsAValidTrace) {
  const Recorder recorder;
  EXPECT_TRUE(nlohmann::json::parse(written(recorder, "t.json"))["traceEvents"].empty());
}

TEST_F(TimelineFileTest, DroppedEventsAreSaidInEveryFormat) {
  Recorder recorder{{.max_events = 1, .warn = {}}};
  const TrackId rank = recorder.track("ranks", "rank 0");
  for (int i = 0; i < 4; ++i) recorder.span(rank, "x", Time{i * 1us}, Time{i * 1us}, "");
  const auto trace = nlohmann::json::parse(written(recorder, "t.json"));
  EXPECT_EQ(trace["otherData"]["dropped_events"], 3);
  EXPECT_EQ(trace["traceEvents"].back()["name"], "3 later events were not recorded");
  EXPECT_NE(written(recorder, "t.csv").find("# dropped_events: 3\n"), std::string::npos);
}

TEST_F(TimelineFileTest, SpansAsCsv) {
  Recorder recorder;
  recorder.span(recorder.track("links", "a,b"), "x", Time{picoseconds(1)}, Time{2us}, "");
  const std::string text = written(recorder, "t.csv");
  EXPECT_TRUE(text.starts_with("# version: 0.1.0\n"));
  EXPECT_TRUE(text.ends_with("\ngroup,track,name,begin_ps,end_ps,detail\nlinks,\"a,b\",x,1,2000000,\n"))
      << text;
}

TEST_F(TimelineFileTest, GzipHoldsTheSameBytes) {
  Recorder recorder;
  test::record_ring(recorder);
  for (int i = 0; i < 5000; ++i) {
    recorder.span(recorder.track("ranks", "rank 0"), "x", Time{i * 2ms}, Time{i * 2ms + 1ns},
                  std::to_string(i));
  }
  const std::string plain = written(recorder, "t.json");
  const std::string packed = written(recorder, "t.json.gz");
  EXPECT_LT(packed.size() * 4, plain.size());
  EXPECT_EQ(packed.substr(4, 4), std::string(4, '\0')) << "the header holds a time";
  std::string unpacked(plain.size() + 1, '\0');
  const gzFile file = gzopen(path("t.json.gz").c_str(), "rb");
  const int size = gzread(file, unpacked.data(), static_cast<unsigned>(unpacked.size()));
  gzclose(file);
  unpacked.resize(static_cast<std::size_t>(size));
  EXPECT_EQ(unpacked, plain);
}

TEST_F(TimelineFileTest, SameRunSameBytes) {
  for (const char* name : {"t.json", "t.json.gz", "t.csv", "t.csv.gz"}) {
    Recorder first;
    Recorder second;
    test::record_ring(first);
    test::record_ring(second);
    EXPECT_EQ(written(first, name), written(second, name)) << name;
  }
}

TEST_F(TimelineFileTest, NameMustSayTheFormat) {
  const Recorder recorder;
  EXPECT_THROW(write_timeline(recorder, {}, path("t.txt")), InputError);
  EXPECT_THROW(check_timeline_path("t.gz"), InputError);
  EXPECT_THROW(write_timeline(recorder, {}, path("no/such/folder/t.json.gz")), InputError);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

/// Writes the sample where ORRERY_SAMPLE_TRACE says, for tests/e2e/test_timeline_ui.py.
TEST_F(TimelineFileTest, SampleForTheViewer) {
  Recorder recorder;
  test::record_ring(recorder);
  const char* wanted = std::getenv("ORRERY_SAMPLE_TRACE");
  const std::string target = wanted == nullptr ? path("ring.json.gz") : wanted;
  write_timeline(recorder, test::ring_manifest(), target);
  EXPECT_GT(std::filesystem::file_size(target), 0U);
}

}  // namespace
}  // namespace orrery::timeline
