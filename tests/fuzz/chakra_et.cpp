// SPDX-License-Identifier: Apache-2.0
// Goal: no bytes break the reader of ET files; what it accepts goes to JSON and back without a change.
#include <cstdint>
#include <string_view>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/chakra/lower.hpp"
#include "orrery/chakra/node_source.hpp"
#include "orrery/chakra/process_groups.hpp"
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

std::string copied(chakra::NodeSource& from, bool to_json) {
  TextSink sink;
  const auto writer = to_json ? chakra::write_json(sink) : chakra::write_et(sink);
  writer->metadata(from.metadata(), from.metadata_frame());
  workload::Op op;
  for (chakra::Node node; from.next(node);) {
    writer->node(node, from.frame());
    static_cast<void>(chakra::process_groups(node));
    try {
      chakra::lower(node, from, 0, op);
      chakra::append_tensors(node, op.tensors);
    } catch (const InputError&) {
    }
  }
  writer->finish();
  return sink.text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes{reinterpret_cast<const char*>(data), size};
  constexpr std::size_t kGzip = 2;  // Compressed input is another file when it comes back.
  const bool is_plain = size < kGzip || data[0] != 0x1f || data[1] != 0x8b;
  std::string json;
  try {
    const auto source = chakra::read_et(chakra::memory_bytes(bytes, "fuzz.et"), "fuzz.et", kLimits);
    json = copied(*source, true);
  } catch (const InputError&) {
    return 0;
  }
  // What was written must be readable: an InputError from here on is a finding.
  const auto back = chakra::read_json(chakra::memory_bytes(json, "fuzz.json"), "fuzz.json");
  ORRERY_CHECK(copied(*back, false) == bytes || !is_plain, "the trace changed on its way:\n{}", json);
  return 0;
}
