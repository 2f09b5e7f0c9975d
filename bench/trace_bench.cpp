// SPDX-License-Identifier: Apache-2.0
// Chakra traces: `make FILE BYTES` writes one that looks like a training step, `read FILE` lowers every node of it,
// `info FILE` sums it up with its longest chain. Prints {"bytes", "nodes", "seconds", "peak_mib"}, CPU time.
#include <fmt/format.h>
#include <sys/resource.h>

#include <ctime>
#include <exception>
#include <filesystem>
#include <string_view>

#include "orrery/app/trace_info.hpp"
#include "orrery/base/byte_sink.hpp"
#include "orrery/base/text.hpp"
#include "orrery/chakra/open_traces.hpp"
#include "orrery/chakra/trace_writer.hpp"

namespace {

using namespace orrery;
using chakra::Attribute;

class CountingSink final : public ByteSink {
 public:
  explicit CountingSink(const std::string& path) : file_{open_sink(path)} {}
  void write(std::string_view data) override {
    bytes_ += data.size();
    file_->write(data);
  }
  void commit() override { file_->commit(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<ByteSink> file_;
  std::uint64_t bytes_ = 0;
};

/// Kernels with names and attributes as tracers write them; every 16th node a collective.
chakra::Node node_of(std::uint64_t id) {
  chakra::Node node;
  node.id = id;
  const bool is_collective = id % 16 == 15;
  node.name = is_collective ? "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
                            : "void cutlass::Kernel<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256>";
  node.type = is_collective ? chakra::NodeType::kCommColl : chakra::NodeType::kComp;
  if (id > 0) node.data_deps.push_back(id - 1);
  if (id > 40) node.ctrl_deps.push_back(id - 37);
  node.start_time_micros = id * 11;
  node.duration_micros = 10 + id % 7;
  node.inputs = chakra::IoInfo{.values = "[[1205, 1206, 0, 8388608, 2, 'cuda:0']]",
                               .shapes = "[[4096, 4096]]",
                               .types = "['Tensor(c10::BFloat16)']"};
  node.attributes.push_back(Attribute::of_bool("is_cpu_op", false));
  if (is_collective) {
    node.attributes.push_back(Attribute::of_int64("comm_type", 0));
    node.attributes.push_back(Attribute::of_int64("comm_size", 33554432));
  } else {
    node.attributes.push_back(Attribute::of_int64("num_ops", 137438953472));
    node.attributes.push_back(Attribute::of_int64("tensor_size", 100663296));
  }
  node.attributes.push_back(Attribute::of_int64("stream", 7));
  return node;
}

struct Work {
  std::uint64_t bytes = 0;
  std::uint64_t nodes = 0;
};

Work make(const std::string& path, std::uint64_t bytes) {
  CountingSink sink{path};
  const auto writer = chakra::write_et(sink);
  writer->metadata({.version = std::string{chakra::kSchemaVersion}});
  std::uint64_t id = 0;
  while (sink.bytes() < bytes) writer->node(node_of(id++));
  writer->finish();
  sink.commit();
  return {.bytes = sink.bytes(), .nodes = id};
}

Work read(const std::string& path) {
  const workload::Workload work = chakra::open_traces(path);
  const auto ops = work.open(0);
  Work done{.bytes = std::filesystem::file_size(path)};
  for (workload::Op op; ops->next(op);) ++done.nodes;
  return done;
}

Work sum_up(const std::string& path) {
  const app::TraceInfo info = app::trace_info(path);
  return {.bytes = std::filesystem::file_size(path), .nodes = info.totals.nodes};
}

Work run(std::string_view what, const std::string& path, const char* bytes) {
  if (what == "make") return make(path, static_cast<std::uint64_t>(parse_integer(bytes).value()));
  return what == "read" ? read(path) : sum_up(path);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count < 3) {
      fmt::print(stderr, "usage: {} make FILE BYTES | read FILE | info FILE\n", arguments[0]);
      return 2;
    }
    const std::clock_t begin = std::clock();
    const Work work = run(arguments[1], arguments[2], count > 3 ? arguments[3] : "0");
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print("{{\"bytes\": {}, \"nodes\": {}, \"seconds\": {:.3f}, \"peak_mib\": {:.1f}}}\n", work.bytes,
               work.nodes, seconds, static_cast<double>(usage.ru_maxrss) / 1024);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
