// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/real_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/app/live_plan.hpp"
#include "orrery/app/live_records.hpp"
#include "orrery/app/real_records.hpp"
#include "orrery/app/scratch_folder.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"
#include "orrery/engine/engine.hpp"
#include "orrery/live/children.hpp"
#include "orrery/live/cores.hpp"

namespace orrery::app {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostRepeats = 10'000;
constexpr std::int64_t kMostRanks = 250;

[[noreturn]] void refuse(const RealOptions& options, const char* option, const std::string& value,
                         const std::string& expected) {
  LiveOptions shaped;
  shaped.option_prefix = options.option_prefix;
  refuse_option(shaped, option, value, expected);
}

bool has_command(const char* name) {
  const char* variable = std::getenv("PATH");
  const std::string path = fmt::format("{}:/usr/sbin:/sbin", variable == nullptr ? "" : variable);
  for (const std::string_view folder : split(path, ':')) {
    if (::access(fmt::format("{}/{}", folder, name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

void check_link(const RealOptions& options) {
  if (options.link.empty()) return;
  const auto link = parse_link(options.link);
  if (!link) {
    refuse(options, "link", options.link,
           "expected a rate, as 1Gbps, and perhaps a burst: 200Mbps,burst=64KiB");
  }
  if (::geteuid() != 0) {
    refuse(options, "link", options.link,
           "needs root: network namespaces, veth pairs and token buckets cannot be made without");
  }
  for (const char* name : {"ip", "tc", "nsenter"}) {
    if (has_command(name)) continue;
    refuse(options, "link", options.link,
           fmt::format("needs the command '{}' (packages iproute2 and util-linux)", name));
  }
}

void check(const RealOptions& options) {
  if (!options.launch.ranks) refuse(options, "ranks", {}, "a real run needs the number of ranks (-n)");
  if (*options.launch.ranks < 1 || *options.launch.ranks > kMostRanks) {
    refuse(options, "ranks", fmt::format("{}", *options.launch.ranks),
           fmt::format("expected 1 to {}", kMostRanks));
  }
  if (!options.link.empty() && *options.launch.ranks < 2) {
    refuse(options, "link", options.link, "one rank has nobody to be linked with");
  }
  if (options.repeat < 1 || options.repeat > kMostRepeats) {
    refuse(options, "repeat", fmt::format("{}", options.repeat),
           fmt::format("expected 1 to {}", kMostRepeats));
  }
  check_link(options);
  LiveOptions shaped;
  shaped.option_prefix = options.option_prefix;
  shaped.warmup = options.warmup;
  check_warmup(shaped);
  check_output_folder(options.output);
}

std::string settings_of(const RealOptions& options, const std::string& folder) {
  const std::vector<int> cores = live::choose_cores(*options.launch.ranks);
  const bool has_cores = static_cast<std::int64_t>(cores.size()) == *options.launch.ranks;
  nlohmann::json link = nullptr;
  if (const auto limit = parse_link(options.link)) {
    link = {{"bits", limit->rate.bits_per_second()}, {"burst", limit->burst.count()}};
  }
  return nlohmann::json{{"ranks", *options.launch.ranks},
                        {"repeat", options.repeat},
                        {"first", 0},
                        {"folder", folder},
                        {"link", link},
                        {"records", options.records},
                        {"cores", has_cores ? nlohmann::json(cores) : nlohmann::json::array()}}
      .dump();
}

/// Says which launch is under way.
class LaunchProgress {
 public:
  LaunchProgress(const RealOptions& options, std::string folder)
      : options_{options}, folder_{std::move(folder)} {}
  void look() {
    std::error_code ignored;
    if (!options_.say || seen_ == options_.repeat) return;
    if (!fs::exists(fmt::format("{}/{}", folder_, seen_), ignored)) return;
    if (++seen_ == 1 || options_.repeat == 1) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
    options_.say(fmt::format("launch {} of {}, after {:.0f} s", seen_, options_.repeat, passed.count()));
  }

 private:
  const RealOptions& options_;
  std::string folder_;
  std::int64_t seen_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// Runs the launcher to its end. Interrupted when the user stops it; nothing of it is left in any case.
live::ChildEvent run_launcher(const RealOptions& options, const std::string& folder) {
  const live::Launch launch =
      live::plan_real_launch(options.launch, settings_of(options, folder), options.warmup);
  std::mutex mutex;
  std::condition_variable has_ended;
  std::optional<live::ChildEvent> end;
  pid_t root = 0;
  live::Children children{[&](const live::ChildEvent& event) {
    const std::scoped_lock lock{mutex};
    if (event.has_stopped || (root != 0 && event.process != root)) return;
    end = event;
    has_ended.notify_all();
  }};
  {
    std::unique_lock lock{mutex};
    root = children.start(launch.words, launch.environment, {},
                          options.output_to_stderr ? STDERR_FILENO : STDOUT_FILENO);
    constexpr auto kLook = std::chrono::milliseconds{50};
    LaunchProgress progress{options, folder};
    while (!end) {
      has_ended.wait_for(lock, kLook);
      progress.look();
      if (options.wants_stop && options.wants_stop()) {
        lock.unlock();
        children.kill_all();
        children.finish(std::chrono::milliseconds{0});
        throw engine::Interrupted{};
      }
    }
  }
  children.finish(std::chrono::milliseconds{500});
  return *end;
}

void explain_failure(const std::string& folder, const live::ChildEvent& end) {
  constexpr std::size_t kLongest = 1 << 16;
  for (const char* kind : {"error", "failure"}) {
    const std::string path = fmt::format("{}/{}", folder, kind);
    if (!fs::exists(path)) continue;
    const std::string text = read_file(path, kLongest);
    if (kind[0] == 'e') throw InputError{text};
    throw SimulationError{text};
  }
  throw SimulationError{fmt::format("the launcher {}", live::to_text(end))};
}

/// Copies what was recorded to where it is to stay: all of it or nothing.
void keep_recordings(const std::string& from, const RealOptions& options) {
  const std::string temporary = fmt::format("{}.{}.tmp", options.keep, ::getpid());
  std::error_code problem;
  fs::create_directory(temporary, problem);
  for (std::int64_t i = 0; i < options.repeat && !problem; ++i) {
    const std::string name = fmt::format("{}", i);
    fs::copy(fs::path{from} / name, fs::path{temporary} / name, fs::copy_options::recursive, problem);
  }
  if (!problem) fs::rename(temporary, options.keep, problem);
  if (!problem) return;
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  throw InputError{fmt::format("{}: cannot be written: {}", options.keep, problem.message())};
}

void note_noise(const std::vector<live::RealRank>& ranks, std::vector<std::string>& notes) {
  for (const live::RealRank& rank : ranks) {
    if (rank.is_fifo) continue;
    notes.emplace_back(::geteuid() == 0
                           ? "fewer cores than ranks: they disturb each other, and the times spread"
                           : "without root there is no real-time scheduling: times are noisy, repeat and "
                             "look at the spread");
    return;
  }
}

}  // namespace

std::optional<RealLink> parse_link(const std::string& text) {
  if (text.empty()) return {};
  const std::vector<std::string_view> parts = split(text, ',');
  const auto rate = parse_bandwidth(parts[0]);
  if (!rate || rate->bits_per_second() < 8000) return {};
  // As small as the kernel can handle without taking much of a core, and without losing tokens where a timer is late.
  constexpr std::int64_t kSmallest = 2 * 1024;
  constexpr std::int64_t kLargest = 256 * 1024;
  constexpr std::int64_t kPerSecond = 1600;
  RealLink link{*rate, Bytes{std::clamp(rate->bits_per_second() / 8 / kPerSecond, kSmallest, kLargest)}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (!parts[i].starts_with("burst=")) return {};
    const auto burst = parse_bytes(parts[i].substr(std::string_view{"burst="}.size()));
    if (!burst || burst->count() < 2048 || burst->count() > (std::int64_t{1} << 30)) return {};
    link.burst = *burst;
  }
  return link;
}

std::vector<live::RealTimeline> launch_real(const RealOptions& options, std::vector<std::string>& notes) {
  check(options);
  const ScratchFolder scratch{"real"};
  const live::ChildEvent end = run_launcher(options, scratch.path());
  if (end.was_killed || end.status != 0) explain_failure(scratch.path(), end);
  if (!options.keep.empty()) keep_recordings(scratch.path(), options);
  std::vector<live::RealTimeline> launches;
  for (std::int64_t i = 0; i < options.repeat; ++i) {
    std::vector<live::RealRank> ranks = live::read_record_folder(fmt::format("{}/{}", scratch.path(), i));
    if (i == 0) note_noise(ranks, notes);
    launches.push_back(live::join_ranks(std::move(ranks)));
  }
  return launches;
}

LiveResult run_real(const RealOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::string> notes;
  const std::vector<live::RealTimeline> launches = launch_real(options, notes);
  LiveResult result = real_result(launches, options);
  result.notes.insert(result.notes.end(), notes.begin(), notes.end());
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  write_real(result, launches, options.output);
  return result;
}

std::vector<live::RealTimeline> read_launches(const std::string& folder) {
  std::set<std::string> folders;
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator{folder, problem}) {
    if (entry.path().extension() == ".record") folders.insert(entry.path().parent_path());
  }
  if (problem) {
    throw InputError{fmt::format("{}: {}; expected a folder of recordings", folder, problem.message())};
  }
  if (folders.empty()) folders.insert(folder);  // Which says what is missing.
  std::vector<live::RealTimeline> launches;
  for (const std::string& one : folders) launches.push_back(live::join_ranks(live::read_record_folder(one)));
  return launches;
}

LiveResult merge_records(const std::string& folder, const std::string& output,
                         const std::vector<std::string>& command) {
  check_output_folder(output);
  const std::vector<live::RealTimeline> launches = read_launches(folder);
  RealOptions options;
  options.launch.ranks = static_cast<std::int64_t>(launches.back().ranks.size());
  options.launch.program = {"recorded"};
  options.command = command;
  LiveResult result = real_result(launches, options);
  result.cluster = "recorded hosts";
  write_real(result, launches, output);
  return result;
}

}  // namespace orrery::app
