// SPDX-License-Identifier: Apache-2.0
// Goal: a file cut at any byte, or with any bit turned over, is an InputError or a trace; never anything else.
#include <gtest/gtest.h>

#include "orrery/base/error.hpp"
#include "orrery/chakra/json_node.hpp"
#include "orrery/chakra/lower.hpp"
#include "orrery/chakra/process_groups.hpp"
#include "orrery/chakra/testing/samples.hpp"
#include "orrery/chakra/trace_writer.hpp"

namespace orrery::chakra {
namespace {

class TextSink final : public ByteSink {
 public:
  void write(std::string_view data) override { text += data; }
  void commit() override {}
  std::string text;
};

/// Reads everything there is to read; whether it could be read.
bool survives(NodeSource& source) {
  TextSink sink;
  const auto json = write_json(sink);
  json->metadata(source.metadata(), source.metadata_frame());
  workload::Op op;
  for (Node node; source.next(node);) {
    json->node(node, source.frame());
    static_cast<void>(process_groups(node));
    try {
      lower(node, source, 0, op);
    } catch (const InputError&) {  // Readable, without meaning.
    }
  }
  json->finish();
  return true;
}

bool reads(const std::string& bytes, bool is_json) {
  try {
    const auto source =
        is_json ? read_json(memory_bytes(bytes, "d"), "d") : read_et(memory_bytes(bytes, "d"), "d");
    return survives(*source);
  } catch (const InputError&) {
    return false;
  }
}

void damage_everywhere(const std::string& good, bool is_json) {
  ASSERT_TRUE(reads(good, is_json));
  std::size_t refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    refused += reads(good.substr(0, at), is_json) ? 0U : 1U;
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(static_cast<unsigned char>(bad[at]) ^ (1U << bit));
      refused += reads(bad, is_json) ? 0U : 1U;
    }
  }
  EXPECT_GT(refused, good.size());  // Most cuts and many flips cannot be anything else.
}

std::string sample() { return test::et_bytes(test::sample_metadata(), test::sample_nodes()); }

TEST(Damage, EveryByteOfAnEt) { damage_everywhere(sample(), false); }

TEST(Damage, EveryByteOfACompressedEt) {
  std::string packed(compressBound(sample().size()) + 64, '\0');
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string plain = sample();
  stream.next_in = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  damage_everywhere(packed, false);
}

TEST(Damage, EveryByteOfJson) {
  TextSink sink;
  const auto writer = write_json(sink);
  writer->metadata(test::sample_metadata());
  const std::vector<Node> nodes = test::sample_nodes();
  for (std::size_t i = 4; i < nodes.size(); ++i) writer->node(nodes[i]);
  writer->finish();
  damage_everywhere(sink.text, true);
}

}  // namespace
}  // namespace orrery::chakra
