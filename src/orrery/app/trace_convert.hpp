// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery trace json` and `orrery trace convert` as calls: the same trace in another form, nothing lost.
#include <string>
#include <vector>

#include "orrery/base/byte_sink.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::app {

struct ConvertedFile {
  std::string input;
  std::string output;
  std::uint64_t nodes = 0;
};

/// One file to `sink`, as JSON. The number of nodes.
std::uint64_t trace_json(const std::string& file, ByteSink& sink);

/// A file to a file whose form its name says (.et, .et.gz, .json, .json.gz); or a folder or prefix to files
/// `output`.<rank>.`form`. `form` "" = what the name of the output says, of a set et. Files appear whole, one by one.
[[nodiscard]] std::vector<ConvertedFile> convert_traces(const std::string& input, const std::string& output,
                                                        const std::string& form);
[[nodiscard]] std::string to_json(const std::vector<ConvertedFile>& files);

}  // namespace orrery::app
