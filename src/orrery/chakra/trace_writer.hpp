// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes one trace file, node by node. Equal nodes give equal bytes.
#include <memory>
#include <string>
#include <string_view>

#include "orrery/base/byte_sink.hpp"
#include "orrery/chakra/node.hpp"

namespace orrery::chakra {

class TraceWriter {
 public:
  virtual ~TraceWriter() = default;
  /// Once, before any node. `frame` is how the message stood in an ET file, when it comes from one; what it says beyond
  /// the fields we know is kept.
  virtual void metadata(const GlobalMetadata& metadata, std::string_view frame) = 0;
  virtual void node(const Node& node, std::string_view frame) = 0;
  /// Once, after the last node; the sink is still to be committed.
  virtual void finish() = 0;
  void metadata(const GlobalMetadata& value) { metadata(value, {}); }
  void node(const Node& value) { node(value, {}); }
};

[[nodiscard]] std::unique_ptr<TraceWriter> write_et(ByteSink& sink);
/// Our JSON: {"metadata": ..., "nodes": [...]}, one node per line.
[[nodiscard]] std::unique_ptr<TraceWriter> write_json(ByteSink& sink);
/// By the name of the file: JSON when it ends in .json or .json.gz, ET otherwise.
[[nodiscard]] std::unique_ptr<TraceWriter> write_trace(const std::string& path, ByteSink& sink);

}  // namespace orrery::chakra
