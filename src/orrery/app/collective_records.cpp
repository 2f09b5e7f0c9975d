// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/collective_records.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "orrery/base/text.hpp"
#include "orrery/timeline/csv_table.hpp"
#include "orrery/version.hpp"

namespace orrery::app {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json facts_json(const LinkFacts& facts) {
  Json json{{"packets", facts.packets},
            {"drops", facts.drops},
            {"marks", facts.marks},
            {"pauses", facts.pauses},
            {"longest_queue_bytes", facts.longest_queue_bytes}};
  if (!facts.link.empty()) json["link"] = facts.link;
  return json;
}

/// Only of models that know packets.
void add_packets(const CollectiveRow& row, Json& json) {
  if (row.packet_total.packets == 0) return;
  json["packets"] = facts_json(row.packet_total);
  json["packets"]["links"] = Json::array();
  for (const LinkFacts& link : row.crowded) json["packets"]["links"].push_back(facts_json(link));
}

Json row_json(const CollectiveRow& row) {
  Json json{{"op", row.operation},
            {"algorithm", row.algorithm},
            {"schedule", row.schedule},
            {"network", row.network},
            {"ranks", row.ranks},
            {"size_bytes", row.size_bytes},
            {"time_ps", row.time_ps},
            {"total_time_ps", row.total_time_ps},
            {"algbw_GBps", number_or_null(row.algbw_gbps)},
            {"busbw_GBps", number_or_null(row.busbw_gbps)},
            {"messages", row.messages},
            {"wire_bytes", row.wire_bytes},
            {"best", row.is_best},
            {"notes", row.notes},
            {"digest", fmt::format("{:016x}", row.digest)}};
  add_packets(row, json);
  return json;
}

}  // namespace

timeline::Manifest manifest_of(const CollectiveResult& result) {
  return {.version = std::string{kVersion},
          .commit = std::string{commit()},
          .seed = result.seed,
          .digest = result.digest,
          .configuration = result.configuration,
          .command = result.command};
}

std::string to_json(const CollectiveResult& result) {
  Json rows = Json::array();
  for (const CollectiveRow& row : result.rows) rows.push_back(row_json(row));
  Json json{{"cluster", result.cluster}, {"network", result.network}, {"results", std::move(rows)}};
  json["warnings"] = result.warnings;
  if (!result.trace.empty()) json["trace"] = {{"file", result.trace}, {"shows", result.trace_note}};
  json["manifest"] = timeline::to_json(manifest_of(result));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_csv(const CollectiveResult& result, const std::string& path) {
  timeline::CsvTable table{
      path,
      manifest_of(result),
      {"op", "algorithm", "schedule", "network", "ranks", "size_bytes", "time_ps", "total_time_ps",
       "algbw_GBps", "busbw_GBps", "messages", "wire_bytes", "best", "notes"}};
  const auto number = [](auto value) { return fmt::format("{}", value); };
  const auto real = [](const std::optional<double>& value) {
    return value ? orrery::to_text(*value) : std::string{};
  };
  for (const CollectiveRow& row : result.rows) {
    table.row({row.operation, row.algorithm, row.schedule, row.network, number(row.ranks),
               number(row.size_bytes), number(row.time_ps), number(row.total_time_ps), real(row.algbw_gbps),
               real(row.busbw_gbps), number(row.messages), number(row.wire_bytes),
               row.is_best ? "true" : "false", join(row.notes, "; ")});
  }
  table.commit();
}

}  // namespace orrery::app
