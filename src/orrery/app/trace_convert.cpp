// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/trace_convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "orrery/app/output_check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/chakra/node_source.hpp"
#include "orrery/chakra/trace_files.hpp"
#include "orrery/chakra/trace_writer.hpp"

namespace orrery::app {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kForms{"et", "et.gz", "json", "json.gz"};

std::uint64_t copy(chakra::NodeSource& from, chakra::TraceWriter& writer) {
  writer.metadata(from.metadata(), from.metadata_frame());
  std::uint64_t nodes = 0;
  for (chakra::Node node; from.next(node); ++nodes) writer.node(node, from.frame());
  writer.finish();
  return nodes;
}

ConvertedFile convert(const std::string& input, const std::string& output) {
  std::error_code ignored;
  if (std::filesystem::equivalent(input, output, ignored)) {
    throw InputError{fmt::format("{}: input and output are the same file", output)};
  }
  const auto source = chakra::open_nodes(input);
  const auto sink = open_sink(output);
  const auto writer = chakra::write_trace(output, *sink);
  const std::uint64_t nodes = copy(*source, *writer);
  sink->commit();
  return {.input = input, .output = output, .nodes = nodes};
}

InputError wrong(std::string source, const std::string& value, std::string expected) {
  return InputError{{.source = std::move(source),
                     .position = {},
                     .field = {},
                     .value = value,
                     .expected = std::move(expected),
                     .nearest = nearest_name(value, kForms)}};
}

}  // namespace

std::uint64_t trace_json(const std::string& file, ByteSink& sink) {
  const auto source = chakra::open_nodes(file);
  return copy(*source, *chakra::write_json(sink));
}

std::vector<ConvertedFile> convert_traces(const std::string& input, const std::string& output,
                                          const std::string& form) {
  if (!form.empty() && std::ranges::find(kForms, form) == kForms.end()) {
    throw wrong("--to", form, fmt::format("expected one of: {}", join(kForms, ", ")));
  }
  const chakra::TraceFiles files = chakra::find_traces(input);
  if (files.is_single) {
    const bool has_form = std::ranges::any_of(
        kForms, [&](const std::string& ending) { return output.ends_with("." + ending); });
    if (!has_form && form.empty()) {
      throw wrong("--output", output,
                  fmt::format("the name says no form; end it in one of: .{}", join(kForms, ", .")));
    }
    if (!form.empty() && !output.ends_with("." + form)) {
      throw wrong("--output", output, fmt::format("expected a name that ends in .{}", form));
    }
    check_output(output);
    return {convert(files.paths.front(), output)};
  }
  const std::string ending = form.empty() ? "et" : form;
  check_output(fmt::format("{}.0.{}", output, ending));
  std::vector<ConvertedFile> converted;
  for (std::size_t rank = 0; rank < files.paths.size(); ++rank) {
    converted.push_back(convert(files.paths[rank], fmt::format("{}.{}.{}", output, rank, ending)));
  }
  return converted;
}

std::string to_json(const std::vector<ConvertedFile>& files) {
  Json list = Json::array();
  for (const ConvertedFile& file : files) {
    list.push_back({{"input", file.input}, {"output", file.output}, {"nodes", file.nodes}});
  }
  return Json{{"files", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::app
