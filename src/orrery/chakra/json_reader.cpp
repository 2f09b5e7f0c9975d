// SPDX-License-Identifier: Apache-2.0
// JSON files of three kinds, read node by node: {"metadata": ..., "nodes": [...]} (ours), one object after another
// (what Chakra's jsonizer writes: metadata, then nodes), and {"workload_graph": [...]} (what Chakra's feeder reads).
#include <fmt/format.h>

#include <utility>

#include "orrery/chakra/json_node.hpp"
#include "orrery/chakra/json_stream.hpp"
#include "orrery/chakra/node_source.hpp"

namespace orrery::chakra {
namespace {

class JsonReader final : public NodeSource {
 public:
  JsonReader(std::unique_ptr<ByteSource> bytes, std::string name, const Limits& limits)
      : NodeSource{name, limits}, stream_{std::move(bytes), std::move(name), limits.message_bytes} {
    if (stream_.peek() == '\0') stream_.fail(0, "the file is empty; expected a Chakra trace as JSON");
    open();
  }

  bool next(Node& node) override {
    frame_.clear();
    if (is_done_ || !has_next()) return false;
    const Json json = stream_.value();
    try {
      if (form_ == Form::kGraph) {
        from_graph_json(json, node);
      } else {
        from_json(json, limits(), node, frame_);
      }
    } catch (const JsonError& problem) {
      throw error(node, problem.field, problem.value, problem.expected, problem.nearest);
    }
    is_first_ = false;
    return true;
  }

  [[nodiscard]] std::string place() const override { return fmt::format("byte {}", stream_.value_offset()); }
  [[nodiscard]] std::string_view frame() const override { return frame_; }

 private:
  enum class Form : std::uint8_t { kNodes, kObjects, kGraph };

  /// Reads up to the first node and finds out which form this is.
  void open() {
    stream_.expect('{', "a trace as JSON starts with an object");
    Json top = Json::object();
    bool has_metadata = false;
    while (stream_.peek() != '}') {
      if (!top.empty() || has_metadata) stream_.expect(',', "keys are separated by commas");
      const std::uint64_t at = stream_.offset();
      const std::string key = stream_.key();
      if (key == "nodes" || key == "workload_graph") {
        form_ = key == "nodes" ? Form::kNodes : Form::kGraph;
        stream_.expect('[', "a list of nodes");
        if (form_ == Form::kNodes && !top.empty()) {
          stream_.fail(at, fmt::format("unknown key '{}' beside nodes; expected metadata",
                                       top.begin().key().substr(0, 80)));
        }
        return;
      }
      if (key == "metadata") {
        if (has_metadata) stream_.fail(at, "key 'metadata' appears twice");
        has_metadata = true;
        set_metadata(stream_.value());
      } else if (top.contains(key)) {
        stream_.fail(at, fmt::format("key '{}' appears twice", key.substr(0, 80)));
      } else {
        top[key] = stream_.value();
      }
    }
    stream_.expect('}', "the end of the first object");
    if (has_metadata) stream_.fail(stream_.offset(), "expected a list 'nodes' behind the metadata");
    form_ = Form::kObjects;
    set_metadata(top);
  }

  void set_metadata(const Json& json) {
    try {
      from_json(json, limits(), metadata_, metadata_frame_);
    } catch (const JsonError& problem) {
      throw InputError{{.source = name(),
                        .position = {},
                        .field = place() + ": " + problem.field,
                        .value = problem.value,
                        .expected = problem.expected,
                        .nearest = problem.nearest}};
    }
  }

  bool has_next() {
    if (form_ == Form::kObjects) {
      if (stream_.peek() != '\0') return true;
      is_done_ = true;
      return false;
    }
    if (stream_.peek() == ']') {
      close();
      return false;
    }
    if (!is_first_) stream_.expect(',', "nodes are separated by commas");
    return true;
  }

  void close() {
    stream_.expect(']', "the end of the nodes");
    while (form_ == Form::kGraph && stream_.peek() == ',') {  // Whatever else the file has to say.
      stream_.expect(',', "a key");
      static_cast<void>(stream_.key());
      static_cast<void>(stream_.value());
    }
    stream_.expect('}', "the end of the trace");
    if (stream_.peek() != '\0') stream_.fail(stream_.offset(), "more text behind the end of the trace");
    is_done_ = true;
  }

  JsonStream stream_;
  Form form_ = Form::kObjects;
  bool is_first_ = true;
  bool is_done_ = false;
  std::string frame_;
};

}  // namespace

std::unique_ptr<NodeSource> read_json(std::unique_ptr<ByteSource> bytes, std::string name,
                                      const Limits& limits) {
  return std::make_unique<JsonReader>(std::move(bytes), std::move(name), limits);
}

}  // namespace orrery::chakra
