// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/trace_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "orrery/base/byte_sink.hpp"
#include "orrery/base/text.hpp"
#include "orrery/timeline/arrows.hpp"
#include "orrery/timeline/layout.hpp"
#include "orrery/timeline/viewer_time.hpp"

namespace orrery::timeline {
namespace {

void append_quoted(std::string& text, std::string_view value) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(value, is_plain)) {
    text.append(1, '"').append(value).append(1, '"');
    return;
  }
  // Rare. Bytes that are not UTF-8 are replaced: a viewer refuses a whole file for one of them.
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  text.append(nlohmann::json(value).dump(-1, ' ', false, kReplace));
}

void append_integer(std::string& text, std::uint64_t value) {
  const fmt::format_int digits{value};
  text.append(digits.data(), digits.size());
}

class TraceWriter {
 public:
  TraceWriter(const Recorder& recorder, const std::string& path)
      : recorder_{recorder}, layout_{recorder}, sink_{open_sink(path)} {
    number_rows();
  }

  void write(const Manifest& manifest) {
    write_head(manifest);
    write_names();
    for (std::size_t lane = 0; lane < layout_.lanes().size(); ++lane) {
      for (const std::uint32_t index : layout_.lanes()[lane].spans) {
        write_span(lane, recorder_.spans()[index]);
      }
    }
    // Behind the spans: at equal times viewers keep the order of the file, and an arrow needs its span first.
    std::uint64_t id = 0;
    for (const Flow& flow : recorder_.flows()) write_flow(flow, ++id);
    for (const Counter& counter : recorder_.counters()) write_counter(counter);
    if (recorder_.dropped() > 0) write_dropped();
    sink_->write("\n]}\n");
    sink_->commit();
  }

 private:
  /// Processes are numbered by first use of their group, threads by lane.
  void number_rows();
  void write_head(const Manifest& manifest);
  void write_names();
  void write_name(std::string_view what, std::size_t process, std::size_t thread, std::string_view name);
  void write_span(std::size_t lane, const Span& span);
  void write_mark(std::size_t lane, Time at, std::string_view name);
  void write_flow(const Flow& flow, std::uint64_t id);
  void write_counter(const Counter& counter);
  /// A row of its own that shows where recording stopped.
  void write_dropped();

  [[nodiscard]] std::size_t process_of(std::size_t lane) const {
    return processes_[layout_.lanes()[lane].track.index()];
  }
  /// The viewer shows the number behind the name: a large one does not read as part of "rank 3".
  [[nodiscard]] std::size_t thread_of(std::size_t lane) const {
    constexpr std::size_t kFirst = 1000;
    return std::max(kFirst, groups_.size() + 1) + lane;
  }
  /// Starts an event in line_; send_event() ends it.
  void begin_event(char phase, std::size_t process, std::size_t thread, Time at);
  void send_event();

  const Recorder& recorder_;
  const Layout layout_;
  std::unique_ptr<ByteSink> sink_;
  std::vector<std::string_view> groups_;
  std::vector<std::size_t> processes_;  // By track.
  std::vector<bool> has_row_;           // By track; one that has only counters needs no row.
  std::string line_;
  bool is_first_ = true;
};

void TraceWriter::number_rows() {
  for (const Track& track : recorder_.tracks()) {
    const auto known = std::ranges::find(groups_, track.group);
    processes_.push_back(static_cast<std::size_t>(known - groups_.begin()) + 1);
    if (known == groups_.end()) groups_.push_back(track.group);
  }
  has_row_.assign(recorder_.tracks().size(), false);
  for (const Lane& lane : layout_.lanes()) {
    if (!lane.spans.empty()) has_row_[lane.track.index()] = true;
  }
  for (const Flow& flow : recorder_.flows()) has_row_[flow.from.index()] = has_row_[flow.to.index()] = true;
}

void TraceWriter::write_head(const Manifest& manifest) {
  nlohmann::ordered_json other = to_json(manifest);
  if (recorder_.dropped() > 0) other["dropped_events"] = recorder_.dropped();
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  sink_->write(fmt::format("{{\"displayTimeUnit\":\"ns\",\"otherData\":{},\"traceEvents\":[",
                           other.dump(-1, ' ', false, kReplace)));
}

void TraceWriter::write_names() {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    write_name("process", group + 1, group + 1, groups_[group]);
  }
  for (std::size_t lane = 0; lane < layout_.lanes().size(); ++lane) {
    const Lane& row = layout_.lanes()[lane];
    if (!has_row_[row.track.index()]) continue;
    std::string name = recorder_.tracks()[row.track.index()].name;
    if (row.number > 0) name.append(fmt::format(" ({})", row.number + 1));
    write_name("thread", process_of(lane), thread_of(lane), name);
  }
}

void TraceWriter::write_name(std::string_view what, std::size_t process, std::size_t thread,
                             std::string_view name) {
  const auto append = [&](std::string_view key, std::string_view value) {
    begin_event('M', process, thread, Time{});
    line_.append(fmt::format(",\"name\":\"{}_{}\",\"args\":{{\"{}\":{}}}", what, key, key, value));
    send_event();
  };
  std::string quoted;
  append_quoted(quoted, name);
  append("name", quoted);
  append("sort_index", std::to_string(thread));
}

void TraceWriter::write_span(std::size_t lane, const Span& span) {
  const Duration exact = span.end - span.begin;
  const std::int64_t shown = viewer_nanoseconds(span.end) - viewer_nanoseconds(span.begin);
  const bool is_exact = viewer_nanoseconds(exact) == shown;
  begin_event('X', process_of(lane), thread_of(lane), span.begin);
  line_.append(",\"dur\":");
  append_microseconds(line_, is_exact ? exact : Duration{std::chrono::nanoseconds{shown}});
  line_.append(",\"name\":");
  append_quoted(line_, recorder_.text(span.name));
  const std::string_view detail = recorder_.text(span.detail);
  if (!is_exact) {
    line_.append(",\"args\":{\"duration_ps\":");
    append_integer(line_, static_cast<std::uint64_t>(count_ps(exact)));
  }
  if (!detail.empty()) {
    line_.append(is_exact ? ",\"args\":{\"detail\":" : ",\"detail\":");
    append_quoted(line_, detail);
  }
  if (!is_exact || !detail.empty()) line_.push_back('}');
  send_event();
}

void TraceWriter::write_mark(std::size_t lane, Time at, std::string_view name) {
  begin_event('X', process_of(lane), thread_of(lane), at);
  line_.append(fmt::format(",\"dur\":0,\"name\":\"{}\"", name));
  send_event();
}

void TraceWriter::write_flow(const Flow& flow, std::uint64_t id) {
  const Arrow arrow = tie_arrow(recorder_, layout_, flow);
  const auto append = [&](char phase, std::size_t lane, Time at, std::string_view binding) {
    begin_event(phase, process_of(lane), thread_of(lane), at);
    line_.append(binding).append(",\"cat\":\"flow\",\"name\":\"flow\",\"id\":");
    append_integer(line_, id);
    send_event();
  };
  if (arrow.tail.needs_mark) write_mark(arrow.tail.lane, flow.sent, "sent");
  append('s', arrow.tail.lane, flow.sent, "");
  if (arrow.head.needs_mark) write_mark(arrow.head.lane, flow.received, "received");
  append('f', arrow.head.lane, flow.received, ",\"bp\":\"e\"");
}

void TraceWriter::write_counter(const Counter& counter) {
  const std::size_t process = processes_[counter.track.index()];
  begin_event('C', process, process, counter.at);
  // Viewers name the row "track counter".
  line_.append(",\"name\":");
  append_quoted(line_, recorder_.tracks()[counter.track.index()].name);
  line_.append(",\"args\":{");
  append_quoted(line_, recorder_.text(counter.name));
  line_.append(1, ':').append(to_text(counter.value)).append(1, '}');
  send_event();
}

void TraceWriter::write_dropped() {
  const std::size_t process = thread_of(layout_.lanes().size());
  write_name("process", process, process, "timeline is incomplete");
  begin_event('X', process, process, recorder_.first_dropped());
  line_.append(fmt::format(",\"dur\":0,\"name\":\"{} later events were not recorded\"", recorder_.dropped()));
  send_event();
}

void TraceWriter::begin_event(char phase, std::size_t process, std::size_t thread, Time at) {
  line_.assign(is_first_ ? "\n" : ",\n");
  is_first_ = false;
  // Written for every event of millions: no format string to parse.
  line_.append("{\"ph\":\"").append(1, phase).append("\",\"pid\":");
  append_integer(line_, process);
  line_.append(",\"tid\":");
  append_integer(line_, thread);
  line_.append(",\"ts\":");
  append_microseconds(line_, at);
}

void TraceWriter::send_event() {
  line_.push_back('}');
  sink_->write(line_);
}

}  // namespace

void write_trace_json(const Recorder& recorder, const Manifest& manifest, const std::string& path) {
  TraceWriter{recorder, path}.write(manifest);
}

}  // namespace orrery::timeline
