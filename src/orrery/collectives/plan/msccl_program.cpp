// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/msccl_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <pugixml.hpp>

#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"

namespace orrery::collectives::plan {

namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;
constexpr std::int64_t kMostCells = std::int64_t{1} << 22;  // Of all GPUs together.
constexpr std::int64_t kMostMoved = std::int64_t{1} << 24;  // Chunks named by all steps together.
constexpr std::int64_t kMostChannels = 1 << 16;

constexpr std::array<MscclVerb, 9> kVerbs{{
    {.name = "s", .reads = true, .sends = true},
    {.name = "r", .receives = true, .writes = true},
    {.name = "rcs", .receives = true, .writes = true, .sends = true},
    {.name = "rrs", .receives = true, .reads = true, .sends = true},
    {.name = "rrc", .receives = true, .reads = true, .writes = true},
    {.name = "rrcs", .receives = true, .reads = true, .writes = true, .sends = true},
    {.name = "re", .reads = true, .joins = true, .writes = true},
    {.name = "cpy", .reads = true, .writes = true},
    {.name = "nop"},
}};

class Reader {
 public:
  Reader(const std::string& path, Operation operation, Rank ranks)
      : path_{path}, operation_{operation}, ranks_{ranks} {}

  MscclProgram read() {
    const std::string file = read_file(path_, kLargestFile);
    for (std::size_t at = file.find('\n'); at != std::string::npos; at = file.find('\n', at + 1)) {
      lines_.push_back(static_cast<std::ptrdiff_t>(at) + 1);
    }
    pugi::xml_document document;
    const pugi::xml_parse_result parsed =
        document.load_buffer(file.data(), file.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed) {
      const std::string problem = fmt::format("is no XML: {}", parsed.description());
      throw InputError{{path_, position_at(parsed.offset), {}, {}, problem, {}}};
    }
    const pugi::xml_node algo = document.document_element();
    if (std::string_view{algo.name()} != "algo") fail(algo, "", algo.name(), "the element <algo>");
    MscclProgram program{path_, read_shape(algo), {}};
    program.gpus.resize(ranks_);
    std::vector<bool> seen(ranks_, false);
    for (const pugi::xml_node node : elements(algo, "gpu")) {
      const auto id = static_cast<Rank>(number(node, "gpu", "id", 0, std::int64_t{ranks_} - 1));
      if (seen[id]) fail(node, "gpu", fmt::format("{}", id), "each id once");
      seen[id] = true;
      program.gpus[id] = read_gpu(node, program.shape, id);
    }
    if (const auto hole = std::ranges::find(seen, false); hole != seen.end()) {
      fail(algo, "algo", "", fmt::format("a <gpu> with id {}", hole - seen.begin()));
    }
    return program;
  }

 private:
  MscclShape read_shape(const pugi::xml_node& algo) const {
    const std::string coll = text(algo, "algo", "coll");
    const std::optional<Operation> found = parse_operation(coll);
    constexpr std::array kKnown{Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter,
                                Operation::kAllToAll};
    if (!found || std::ranges::find(kKnown, *found) == kKnown.end()) {
      fail(algo, "algo.coll", coll, "allreduce, allgather, reduce_scatter or alltoall");
    }
    if (*found != operation_) {
      fail(algo, "algo.coll", coll, fmt::format("{}, which is to be run", to_text(operation_)));
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const std::int64_t gpus = number(algo, "algo", "ngpus", 1, kMost);
    if (gpus != ranks_) {
      fail(algo, "algo.ngpus", fmt::format("{}", gpus), fmt::format("the group's {}", ranks_));
    }
    const std::int64_t chunks = number(algo, "algo", "nchunksperloop", 1, kMostCells / gpus);
    if (*found != Operation::kAllReduce && chunks % gpus != 0) {
      fail(algo, "algo.nchunksperloop", fmt::format("{}", chunks),
           fmt::format("a multiple of ngpus ({})", gpus));
    }
    const bool in_place = algo.attribute("inplace") && number(algo, "algo", "inplace", 0, 1) == 1;
    return {operation_, ranks_, static_cast<std::uint32_t>(chunks), in_place};
  }

  MscclGpu read_gpu(const pugi::xml_node& node, const MscclShape& shape, Rank id) {
    const std::string name = fmt::format("gpu {}", id);
    static_cast<void>(number(node, name, "i_chunks", 0, shape.chunks));
    static_cast<void>(number(node, name, "o_chunks", 0, shape.chunks));
    scratch_ = static_cast<std::uint32_t>(number(node, name, "s_chunks", 0, kMostCells));
    MscclGpu gpu{shape.scratch() + scratch_, {}, position_at(node.offset_debug() - 1)};
    cells_ += gpu.cells;
    if (cells_ > kMostCells) {
      fail(node, name, "", fmt::format("at most {} chunks in all buffers", kMostCells));
    }
    for (const pugi::xml_node child : elements(node, "tb")) {
      gpu.blocks.push_back(read_block(child, shape, id));
    }
    std::map<std::uint32_t, std::uint32_t> by_id;
    for (const MscclBlock& block : gpu.blocks) {
      if (by_id.try_emplace(block.id, static_cast<std::uint32_t>(by_id.size())).second) continue;
      fail(block.position, name + " tb.id", fmt::format("{}", block.id), "each id once");
    }
    for (MscclBlock& block : gpu.blocks) resolve_waits(gpu, by_id, block, id);
    return gpu;
  }

  MscclBlock read_block(const pugi::xml_node& node, const MscclShape& shape, Rank gpu) {
    MscclBlock block;
    block.position = position_at(node.offset_debug() - 1);
    const std::string own = fmt::format("gpu {} tb", gpu);
    block.id = static_cast<std::uint32_t>(number(node, own, "id", 0, kMostChannels));
    const std::string name = fmt::format("gpu {} tb {}", gpu, block.id);
    block.send = peer(node, name, "send", gpu);
    block.receive = peer(node, name, "recv", gpu);
    block.channel = static_cast<std::uint32_t>(number(node, name, "chan", 0, kMostChannels));
    for (const pugi::xml_node child : elements(node, "step")) {
      block.steps.push_back(read_step(child, shape, gpu, block));
    }
    return block;
  }

  Rank peer(const pugi::xml_node& node, const std::string& name, const char* attribute, Rank self) const {
    const std::int64_t rank = number(node, name, attribute, -1, std::int64_t{ranks_} - 1);
    if (rank == self) fail(node, name + '.' + attribute, fmt::format("{}", rank), "another GPU, or -1");
    return rank < 0 ? MscclBlock::kNobody : static_cast<Rank>(rank);
  }

  MscclStep read_step(const pugi::xml_node& node, const MscclShape& shape, Rank gpu,
                      const MscclBlock& block) {
    MscclStep step;
    step.position = position_at(node.offset_debug() - 1);
    const std::string name = msccl_place(gpu, block.id, block.steps.size());
    const auto index = static_cast<std::int64_t>(block.steps.size());
    if (number(node, name, "s", 0, std::numeric_limits<std::int64_t>::max()) != index) {
      fail(node, name + ".s", node.attribute("s").value(), fmt::format("{}: steps are in order", index));
    }
    const std::string type = text(node, name, "type");
    const auto* const verb = std::ranges::find(kVerbs, std::string_view{type}, &MscclVerb::name);
    if (verb == kVerbs.end()) fail(node, name + ".type", type, "s, r, rcs, rrs, rrc, rrcs, re, cpy or nop");
    step.verb = *verb;
    if (verb->sends && block.send == MscclBlock::kNobody) {
      fail(node, name + ".type", type, "a step that does not send: the tb has send=\"-1\"");
    }
    if (verb->receives && block.receive == MscclBlock::kNobody) {
      fail(node, name + ".type", type, "a step that does not receive: the tb has recv=\"-1\"");
    }
    if (verb->reads || verb->writes) {
      step.count = static_cast<std::uint32_t>(number(node, name, "cnt", 1, kMostCells));
      moved_ += step.count;
      if (moved_ > kMostMoved) fail(node, name + ".cnt", "", fmt::format("at most {} in all", kMostMoved));
    }
    if (verb->reads) step.source = cell(node, name, "src", shape, gpu, step.count);
    if (verb->writes) step.target = cell(node, name, "dst", shape, gpu, step.count);
    const std::int64_t block_id =
        node.attribute("depid") ? number(node, name, "depid", -1, kMostChannels) : -1;
    if (block_id >= 0) {
      step.waits = true;
      step.after_block = static_cast<std::uint32_t>(block_id);  // An id as yet.
      constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
      step.after_step = static_cast<std::uint32_t>(number(node, name, "deps", 0, kMost));
    }
    return step;
  }

  std::uint32_t cell(const pugi::xml_node& node, const std::string& name, const std::string& side,
                     const MscclShape& shape, Rank gpu, std::uint32_t count) const {
    const std::string buffer = text(node, name, (side + "buf").c_str());
    std::uint32_t first = 0;
    std::uint32_t size = 0;
    if (buffer == "i") {
      first = shape.input(gpu);
      size = shape.inputs();
    } else if (buffer == "o") {
      first = shape.output(gpu);
      size = shape.outputs();
    } else if (buffer == "s") {
      first = shape.scratch();
      size = scratch_;
    } else {
      fail(node, fmt::format("{}.{}buf", name, side), buffer, "i, o or s");
    }
    const std::int64_t offset = number(node, name, (side + "off").c_str(), 0, kMostCells);
    if (offset + count > size) {
      fail(node, fmt::format("{}.{}off", name, side), fmt::format("{}", offset),
           fmt::format("{} chunks within the {} of buffer {}", count, size, buffer));
    }
    return first + static_cast<std::uint32_t>(offset);
  }

  /// From ids of thread blocks to indices.
  void resolve_waits(const MscclGpu& gpu, const std::map<std::uint32_t, std::uint32_t>& by_id,
                     MscclBlock& block, Rank id) const {
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      MscclStep& step = block.steps[i];
      if (!step.waits) continue;
      const std::string name = msccl_place(id, block.id, i);
      const auto found = by_id.find(step.after_block);
      if (found == by_id.end()) {
        fail(step.position, name + ".depid", fmt::format("{}", step.after_block), "a tb of this gpu");
      }
      if (step.after_step >= gpu.blocks[found->second].steps.size()) {
        fail(step.position, name + ".deps", fmt::format("{}", step.after_step), "a step of that tb");
      }
      step.after_block = found->second;
    }
  }

  /// The children; each must be a <name>.
  std::vector<pugi::xml_node> elements(const pugi::xml_node& parent, std::string_view name) const {
    std::vector<pugi::xml_node> found;
    for (const pugi::xml_node child : parent.children()) {
      if (child.type() != pugi::node_element || name != child.name()) {
        fail(child, parent.name(), child.name(), fmt::format("the element <{}>", name));
      }
      found.push_back(child);
    }
    return found;
  }
  std::string text(const pugi::xml_node& node, const std::string& name, const char* attribute) const {
    const pugi::xml_attribute found = node.attribute(attribute);
    if (!found) fail(node, name, "", fmt::format("the attribute {}", attribute));
    return found.value();
  }
  std::int64_t number(const pugi::xml_node& node, const std::string& name, const char* attribute,
                      std::int64_t low, std::int64_t high) const {
    const std::string written = text(node, name, attribute);
    const std::optional<std::int64_t> value = parse_integer(written);
    if (!value || *value < low || *value > high) {
      fail(node, name + '.' + attribute, written, fmt::format("a whole number from {} to {}", low, high));
    }
    return *value;
  }
  Position position_at(std::ptrdiff_t offset) const {
    const auto line = std::ranges::upper_bound(lines_, std::max<std::ptrdiff_t>(offset, 0));
    const std::ptrdiff_t column = std::max<std::ptrdiff_t>(offset, 0) - *(line - 1) + 1;
    return {static_cast<int>(line - lines_.begin()), static_cast<int>(column)};
  }
  [[noreturn]] void fail(const pugi::xml_node& node, const std::string& field, const std::string& value,
                         const std::string& expected) const {
    fail(position_at(node.offset_debug() - 1), field, value, expected);
  }
  [[noreturn]] void fail(Position position, const std::string& field, const std::string& value,
                         const std::string& expected) const {
    throw InputError{{path_, position, field, value, "expected " + expected, {}}};
  }

  const std::string& path_;
  Operation operation_;
  Rank ranks_;
  std::vector<std::ptrdiff_t> lines_{0};  // Where each begins.
  std::uint32_t scratch_ = 0;             // Of the GPU being read.
  std::int64_t cells_ = 0;
  std::int64_t moved_ = 0;
};

}  // namespace

std::string msccl_place(Rank gpu, std::uint32_t block_id, std::size_t step) {
  return fmt::format("gpu {} tb {} step {}", gpu, block_id, step);
}

MscclProgram read_msccl_program(const std::string& path, Operation operation, Rank ranks) {
  return Reader{path, operation, ranks}.read();
}

}  // namespace orrery::collectives::plan
