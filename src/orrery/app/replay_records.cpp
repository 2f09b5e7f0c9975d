// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/replay_records.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/timeline/csv_table.hpp"
#include "orrery/timeline/timeline_file.hpp"

namespace orrery::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void write_text(const std::string& path, std::string_view text) {
  OutputFile file{path};
  file.write(text);
  file.commit();
}

std::string_view kind_text(workload::OpKind kind) {
  switch (kind) {
    case workload::OpKind::kCompute:
      return "compute";
    case workload::OpKind::kCollective:
      return "collective";
    case workload::OpKind::kSend:
      return "send";
    case workload::OpKind::kReceive:
      return "receive";
    case workload::OpKind::kLoad:
      return "load";
    case workload::OpKind::kStore:
      return "store";
    case workload::OpKind::kNone:
      break;
  }
  return "none";
}

/// RFC 4180, and no line ends or '#', which readers of commented CSV files stumble over.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r#") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c == '\n' || c == '\r' || c == '#' ? ' ' : c;
  }
  return quoted + "\"";
}

Json rank_json(const ReplayRank& rank, std::size_t number) {
  const workload::RankTimes& times = rank.times;
  Json json{{"rank", number},
          {"node", rank.node},
          {"device", rank.device},
          {"finish_ps", count_ps(times.finish)},
          {"compute_ps", count_ps(times.compute)},
          {"communication_ps", count_ps(times.communication)},
          {"exposed_communication_ps", count_ps(times.exposed_communication)},
          {"overlap_ps", count_ps(times.overlap)},
          {"waiting_ps", count_ps(times.waiting)},
          {"memory_ps", count_ps(times.memory)},
          {"bytes", times.bytes},
          {"operations", times.operations}};
  if (rank.memory.empty()) return json;
  const workload::MemoryStep peak = peak_memory(rank);
  json["peak_memory_bytes"] = peak.bytes.count();
  json["peak_memory_at_ps"] = count_ps(peak.at);
  return json;
}

Json collective_json(const workload::CollectiveTotal& total) {
  return {{"operation", total.operation},
          {"name", total.name},
          {"group", total.group},
          {"ranks", total.ranks},
          {"size_bytes", total.size.count()},
          {"algorithm", total.algorithm},
          {"calls", total.calls},
          {"folded", total.folded},
          {"time_ps", count_ps(total.time)},
          {"longest_ps", count_ps(total.longest)},
          {"waiting_ps", count_ps(total.waiting)},
          {"messages", total.messages},
          {"wire_bytes", total.wire_bytes.count()}};
}

Json link_json(const ReplayLink& link) {
  Json json{{"link", link.name},
            {"bytes", link.bytes},
            {"messages", link.messages},
            {"utilization", link.utilization}};
  if (link.packets > 0) {
    json["packets"] = link.packets;
    json["drops"] = link.drops;
    json["marks"] = link.marks;
    json["pauses"] = link.pauses;
    json["longest_queue_bytes"] = link.longest_queue_bytes;
  }
  return json;
}

void write_ranks_csv(const ReplayResult& result, const std::string& path) {
  timeline::CsvTable table{
      path,
      result.manifest,
      {"rank", "node", "device", "finish_ps", "compute_ps", "communication_ps", "exposed_communication_ps",
       "overlap_ps", "waiting_ps", "memory_ps", "bytes", "operations"}};
  const auto number = [](auto value) { return fmt::format("{}", value); };
  const auto time = [](auto value) { return fmt::format("{}", count_ps(value)); };
  for (std::size_t i = 0; i < result.ranks.size(); ++i) {
    const ReplayRank& rank = result.ranks[i];
    const workload::RankTimes& times = rank.times;
    table.row({number(i), rank.node, rank.device, time(times.finish), time(times.compute),
               time(times.communication), time(times.exposed_communication), time(times.overlap),
               time(times.waiting), time(times.memory), number(times.bytes), number(times.operations)});
  }
  table.commit();
}

bool has_memory(const ReplayResult& result) {
  return std::ranges::any_of(result.ranks, [](const ReplayRank& rank) { return !rank.memory.empty(); });
}

void write_memory_csv(const ReplayResult& result, const std::string& path) {
  timeline::CsvTable table{path, result.manifest, {"rank", "time_ps", "bytes"}};
  for (std::size_t i = 0; i < result.ranks.size(); ++i) {
    for (const workload::MemoryStep& step : result.ranks[i].memory) {
      table.row({fmt::format("{}", i), fmt::format("{}", count_ps(step.at)),
                 fmt::format("{}", step.bytes.count())});
    }
  }
  table.commit();
}

}  // namespace

ReplayRecords::ReplayRecords(const ReplayOptions& options) : options_{options} {
  if (options.output.empty() && options.trace_file.empty()) return;
  recorder_ = std::make_unique<timeline::Recorder>();
}

workload::OpRecorder* ReplayRecords::recorder() { return options_.output.empty() ? nullptr : this; }

void ReplayRecords::on_op(const workload::OpRecord& record) {
  const workload::Communication* const what = record.communication;
  operations_ +=
      fmt::format("{},{},{},{},{},{},{},{}\n", record.rank, record.id, kind_text(record.kind),
                  cell(*record.name), what == nullptr ? 0 : what->group,
                  what == nullptr ? 0 : what->size.count(), count_ps(record.begin), count_ps(record.end));
}

void ReplayRecords::draw_memory(const ReplayResult& result) const {
  for (std::size_t i = 0; i < result.ranks.size(); ++i) {
    if (result.ranks[i].memory.empty()) continue;
    const engine::TrackId track = recorder_->track("memory", fmt::format("rank {}", i));
    for (const workload::MemoryStep& step : result.ranks[i].memory) {
      recorder_->counter(track, "bytes", step.at, static_cast<double>(step.bytes.count()));
    }
  }
}

void ReplayRecords::write(ReplayResult& result) const {
  if (recorder_) draw_memory(result);
  if (!options_.trace_file.empty()) {
    timeline::write_timeline(*recorder_, result.manifest, options_.trace_file);
    result.files.push_back(options_.trace_file);
  }
  if (!options_.csv.empty()) {
    write_ranks_csv(result, options_.csv);
    result.files.push_back(options_.csv);
  }
  if (options_.output.empty()) return;
  write_folder(result);
  result.files.push_back(options_.output);
}

void ReplayRecords::write_folder(const ReplayResult& result) const {
  // Under another name first: a folder that is there is whole.
  const std::string& folder = options_.output;
  const std::string temporary = fmt::format("{}.{}.tmp", folder, ::getpid());
  std::error_code problem;
  fs::create_directory(temporary, problem);
  if (problem) throw InputError{fmt::format("{}: cannot be made: {}", temporary, problem.message())};
  try {
    write_text(temporary + "/result.json", to_json(result));
    write_ranks_csv(result, temporary + "/ranks.csv");
    if (has_memory(result)) write_memory_csv(result, temporary + "/memory.csv");
    write_text(temporary + "/operations.csv", timeline::to_comment_lines(result.manifest) +
                                                  "rank,node,kind,name,group,bytes,begin_ps,end_ps\n" +
                                                  operations_);
    write_text(temporary + "/manifest.json", timeline::to_json(result.manifest).dump(2) + "\n");
    timeline::write_timeline(*recorder_, result.manifest, temporary + "/timeline.json.gz");
    fs::remove(folder, problem);  // An empty one may stand there.
    fs::rename(temporary, folder);
  } catch (const fs::filesystem_error& error) {
    fs::remove_all(temporary, problem);
    throw InputError{fmt::format("{}: {}", folder, error.code().message())};
  } catch (...) {
    fs::remove_all(temporary, problem);
    throw;
  }
}

std::string to_json(const ReplayResult& result) {
  Json ranks = Json::array();
  for (std::size_t i = 0; i < result.ranks.size(); ++i) ranks.push_back(rank_json(result.ranks[i], i));
  Json collectives = Json::array();
  for (const workload::CollectiveTotal& total : result.collectives) {
    collectives.push_back(collective_json(total));
  }
  Json links = Json::array();
  for (const ReplayLink& link : result.links) links.push_back(link_json(link));
  // Nothing of this hour or machine: the same replay gives the same bytes.
  const Json json{{"total_ps", result.total_ps},
                  {"workload", result.workload},
                  {"cluster", result.cluster},
                  {"network", result.network},
                  {"algorithm", result.algorithm},
                  {"compute", result.compute},
                  {"operations", result.operations},
                  {"messages", result.messages},
                  {"message_bytes", result.message_bytes},
                  {"ranks", std::move(ranks)},
                  {"collectives", std::move(collectives)},
                  {"links", std::move(links)},
                  {"notes", result.notes},
                  {"manifest", timeline::to_json(result.manifest)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::app
