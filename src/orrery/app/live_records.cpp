// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/live_records.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"
#include "orrery/live/compute_choice.hpp"
#include "orrery/timeline/timeline_file.hpp"

namespace orrery::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

[[noreturn]] void fail(const std::string& folder, const std::string& why) {
  throw InputError{fmt::format("{}: {}", folder, why)};
}

void write_text(const std::string& path, std::string_view text) {
  OutputFile file{path};
  file.write(text);
  file.commit();
}

Json memory_json(const LiveRank& rank) {
  const orrery_memory& memory = *rank.device_memory;
  return {{"device_bytes", rank.device_bytes > 0 ? Json(rank.device_bytes) : Json(nullptr)},
          {"peak_bytes", memory.peak},
          {"parameters", memory.parameters},
          {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},
          {"activations", memory.activations},
          {"other", memory.other}};
}

Json ranks_json(const LiveResult& result) {
  Json ranks = Json::array();
  for (std::size_t i = 0; i < result.ranks.size(); ++i) {
    const LiveRank& rank = result.ranks[i];
    const live::RankTimes& times = rank.times;
    Json one{{"rank", i},
             {"node", rank.node},
             {"device", rank.device},
             {"finish_ps", times.finish == kTimeMax ? Json(nullptr) : Json(count_ps(times.finish))},
             {"compute_ps", count_ps(times.compute)},
             {"communication_ps", count_ps(times.communication)},
             {"waiting_ps", count_ps(times.waiting)},
             {"sleeping_ps", count_ps(times.sleeping)},
             {"bytes", times.bytes},
             {"operations", times.operations},
             {"exit_status", times.status},
             {"crashed", times.has_crashed}};
    if (rank.device_memory) one["memory"] = memory_json(rank);
    ranks.push_back(std::move(one));
  }
  return ranks;
}

Json operations_json(const std::vector<OperationTotal>& totals) {
  Json operations = Json::array();
  for (const OperationTotal& total : totals) {
    operations.push_back({{"name", total.name},
                          {"calls", total.calls},
                          {"bytes", total.bytes},
                          {"time_ps", count_ps(total.time)},
                          {"waiting_ps", count_ps(total.waiting)}});
  }
  return operations;
}

/// What each launch of a real run took; `rank` sums are in the order of ranks.
Json repeats_json(const LiveResult& result) {
  Json repeats = Json::array();
  for (const LiveRepeat& repeat : result.repeats) {
    Json ranks = Json::array();
    for (const live::RankTimes& times : repeat.ranks) {
      ranks.push_back({{"compute_ps", count_ps(times.compute)},
                       {"communication_ps", count_ps(times.communication)},
                       {"waiting_ps", count_ps(times.waiting)},
                       {"sleeping_ps", count_ps(times.sleeping)}});
    }
    repeats.push_back({{"total_ps", repeat.total_ps},
                       {"ranks", std::move(ranks)},
                       {"operations", operations_json(repeat.operations)}});
  }
  return repeats;
}

}  // namespace

void check_output_folder(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code problem;
  if (fs::exists(folder, problem)) {
    if (!fs::is_directory(folder, problem)) fail(folder, "is a file; expected a folder for the results");
    if (!fs::is_empty(folder, problem)) {
      fail(folder, "has something in it; results never overwrite, name another");
    }
    if (::access(folder.c_str(), W_OK) != 0) fail(folder, "cannot be written to");
    return;
  }
  // Try, so that a mistake is found before the run, and leave nothing.
  if (!fs::create_directory(folder, problem)) {
    fail(folder, fmt::format("cannot be made: {}", problem.message()));
  }
  fs::remove(folder, problem);
}

LiveRecords::LiveRecords(const LiveOptions& options, std::size_t world)
    : folder_{options.output}, world_{world} {
  if (folder_.empty()) return;
  recorder_ = std::make_unique<timeline::Recorder>();
  events_ = kEventColumns;
}

void LiveRecords::add(const live::OperationRecord& record) {
  if (!folder_.empty()) events_ += event_line(record);
}

void note_endless_warmup(LiveResult& result) {
  std::vector<std::string> endless;
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    if (result.ranks[rank].times.begin == Time{}) endless.push_back(fmt::format("{}", rank));
  }
  if (endless.empty()) return;
  result.notes.push_back(endless.size() == result.ranks.size()
                             ? "no rank came to the end of the warm-up: everything counts"
                             : fmt::format("rank {} never came to the end of the warm-up", join(endless, ", ")));
}

std::string event_line(const live::OperationRecord& record) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},\"{}\"\n", record.rank, record.name, record.group,
                     record.sequence, record.peer, record.bytes, count_ps(record.posted),
                     count_ps(record.began), count_ps(record.done), record.has_failed ? 1 : 0, record.where);
}

void LiveRecords::write(const LiveResult& result, const live::LedgerFiles& ledgers) const {
  if (folder_.empty()) return;
  // Under another name first: a folder that is there is whole.
  const std::string temporary = fmt::format("{}.{}.tmp", folder_, ::getpid());
  std::error_code problem;
  fs::create_directory(temporary, problem);
  if (problem) fail(temporary, fmt::format("cannot be made: {}", problem.message()));
  try {
    fs::create_directory(temporary + "/ledger");
    for (std::size_t rank = 0; rank < world_; ++rank) {
      write_text(live::ledger_path(temporary + "/ledger", rank), ledgers.recorded(rank));
    }
    write_text(temporary + "/result.json", to_json(result));
    write_text(temporary + "/events.csv", timeline::to_comment_lines(result.manifest) + events_);
    write_text(temporary + "/manifest.json", timeline::to_json(result.manifest).dump(2) + "\n");
    timeline::write_timeline(*recorder_, result.manifest, temporary + "/timeline.json.gz");
    fs::remove(folder_, problem);  // An empty one may stand there.
    fs::rename(temporary, folder_);
  } catch (const fs::filesystem_error& error) {
    fs::remove_all(temporary, problem);
    fail(folder_, error.code().message());
  } catch (...) {
    fs::remove_all(temporary, problem);
    throw;
  }
}

std::string to_json(const LiveResult& result) {
  // Nothing of this hour or machine: the same run gives the same bytes.
  Json json{{"kind", result.kind},         {"total_ps", result.total_ps},
            {"begin_ps", result.begin_ps}, {"cluster", result.cluster},
            {"network", result.network},   {"algorithm", result.algorithm},
            {"compute", result.compute},   {"wire_bytes", result.wire_bytes},
            {"ranks", ranks_json(result)}, {"operations", operations_json(result.operations)},
            {"notes", result.notes},       {"manifest", timeline::to_json(result.manifest)}};
  if (!result.repeats.empty()) {
    json["median_repeat"] = result.median_repeat;
    json["repeats"] = repeats_json(result);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::app
