// SPDX-License-Identifier: Apache-2.0
#pragma once
/// MSCCL programs as written: GPUs, thread blocks, steps. Buffers are already turned into cells of a GPU's memory.
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.hpp"
#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives::plan {

/// What one step does, in this order: receive, add the source, add the destination, write, send on.
struct MscclVerb {
  std::string_view name;
  bool receives = false;
  bool reads = false;  ///< The source: taken, or added to what was received.
  bool joins = false;  ///< Adds what the destination holds.
  bool writes = false;
  bool sends = false;
};

struct MscclStep {
  MscclVerb verb;
  std::uint32_t source = 0;  ///< First cell of the GPU's memory.
  std::uint32_t target = 0;
  std::uint32_t count = 0;
  std::uint32_t after_block = 0;  ///< Index in the GPU, with `after_step`: done before this one.
  std::uint32_t after_step = 0;
  bool waits = false;  ///< For `after_step`.
  Position position{};
};

struct MscclBlock {
  static constexpr Rank kNobody = ~Rank{0};
  std::uint32_t id = 0;
  Rank send = kNobody;
  Rank receive = kNobody;
  std::uint32_t channel = 0;
  std::vector<MscclStep> steps{};
  Position position{};
};

struct MscclGpu {
  std::uint32_t cells = 0;
  std::vector<MscclBlock> blocks{};
  Position position{};
};

/// Which cell of a rank's memory is what: the input, then the output (in place: one of them lies in the other),
/// then the scratch. `chunks` is what the larger of input and output has.
struct MscclShape {
  Operation operation = Operation::kAllReduce;
  Rank ranks = 0;
  std::uint32_t chunks = 0;
  bool in_place = false;

  [[nodiscard]] std::uint32_t block() const { return chunks / ranks; }
  [[nodiscard]] std::uint32_t inputs() const { return operation == Operation::kAllGather ? block() : chunks; }
  [[nodiscard]] std::uint32_t outputs() const {
    return operation == Operation::kReduceScatter ? block() : chunks;
  }
  [[nodiscard]] std::uint32_t input(Rank rank) const {
    return in_place && operation == Operation::kAllGather ? rank * block() : 0;
  }
  [[nodiscard]] std::uint32_t output(Rank rank) const {
    if (!in_place) return inputs();
    return operation == Operation::kReduceScatter ? rank * block() : 0;
  }
  [[nodiscard]] std::uint32_t scratch() const { return in_place ? chunks : inputs() + outputs(); }
};

struct MscclProgram {
  std::string path;
  MscclShape shape;
  std::vector<MscclGpu> gpus{};  ///< By id.
};

/// "gpu 1 tb 0 step 2", for messages.
[[nodiscard]] std::string msccl_place(Rank gpu, std::uint32_t block_id, std::size_t step);

/// InputError with file and position when it is no such program, or not one of `operation` on `ranks` GPUs.
[[nodiscard]] MscclProgram read_msccl_program(const std::string& path, Operation operation, Rank ranks);

}  // namespace orrery::collectives::plan
