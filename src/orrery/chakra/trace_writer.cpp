// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/trace_writer.hpp"

#include "orrery/chakra/json_node.hpp"
#include "orrery/chakra/node_source.hpp"
#include "orrery/chakra/wire.hpp"

namespace orrery::chakra {
namespace {

class EtWriter final : public TraceWriter {
 public:
  explicit EtWriter(ByteSink& sink) : sink_{sink} {}
  void metadata(const GlobalMetadata& metadata, std::string_view frame) override { write(metadata, frame); }
  void node(const Node& node, std::string_view frame) override { write(node, frame); }
  void finish() override {}

 private:
  template <class Message>
  void write(const Message& message, std::string_view frame) {
    if (!frame.empty()) return sink_.write(frame);
    bytes_.clear();
    encode_frame(message, scratch_, bytes_);
    sink_.write(bytes_);
  }

  ByteSink& sink_;
  std::string scratch_;
  std::string bytes_;
};

class JsonWriter final : public TraceWriter {
 public:
  explicit JsonWriter(ByteSink& sink) : sink_{sink} {}
  void metadata(const GlobalMetadata& metadata, std::string_view frame) override {
    sink_.write("{\"metadata\": ");
    write(to_json(metadata, frame));
    sink_.write(",\n\"nodes\": [");
  }
  void node(const Node& node, std::string_view frame) override {
    sink_.write(is_first_ ? "\n" : ",\n");
    is_first_ = false;
    write(to_json(node, frame));
  }
  void finish() override { sink_.write("\n]}\n"); }

 private:
  void write(const Json& json) { sink_.write(json.dump(-1, ' ', false, Json::error_handler_t::replace)); }

  ByteSink& sink_;
  bool is_first_ = true;
};

}  // namespace

std::unique_ptr<TraceWriter> write_et(ByteSink& sink) { return std::make_unique<EtWriter>(sink); }

std::unique_ptr<TraceWriter> write_json(ByteSink& sink) { return std::make_unique<JsonWriter>(sink); }

std::unique_ptr<TraceWriter> write_trace(const std::string& path, ByteSink& sink) {
  return is_json_name(path) ? write_json(sink) : write_et(sink);
}

}  // namespace orrery::chakra
