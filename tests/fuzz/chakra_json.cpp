// SPDX-License-Identifier: Apache-2.0
// Goal: no text breaks the reader of traces as JSON, in any of its forms; what it accepts becomes an ET file whose JSON
// reads as the same nodes.
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/chakra/lower.hpp"
#include "orrery/chakra/node_source.hpp"
#include "orrery/chakra/tensors.hpp"
#include "orrery/chakra/trace_writer.hpp"

namespace {

using namespace orrery;

class TextSink final : public ByteSink {
 public:
  void write(std::string_view data) override { text += data; }
  void commit() override {}
  std::string text;
};

const chakra::Limits kLimits{
    .message_bytes = 1 << 16, .attributes = 1000, .values = 10'000, .name_bytes = 1 << 12};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  try {
    const auto source = chakra::read_json(chakra::memory_bytes(text, "fuzz.json"), "fuzz.json", kLimits);
    TextSink et;
    const auto writer = chakra::write_et(et);
    writer->metadata({.version = "0.0.4"});
    std::vector<chakra::Node> nodes;
    workload::Op op;
    for (chakra::Node node; source->next(node);) {
      writer->node(node);
      nodes.push_back(node);
      try {
        chakra::lower(node, *source, 0, op);
        chakra::append_tensors(node, op.tensors);
      } catch (const InputError&) {
      }
    }
    const auto again = chakra::read_et(chakra::memory_bytes(et.text, "written.et"), "written.et");
    std::size_t count = 0;
    for (chakra::Node node; again->next(node); ++count) {
      ORRERY_CHECK(node == nodes.at(count), "node {} changed when it was written", count);
    }
    ORRERY_CHECK(count == nodes.size(), "{} of {} nodes came back", count, nodes.size());
  } catch (const InputError&) {
  }
  return 0;
}
