// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which thread block of an MSCCL program sends to which, and the lane each one runs in. A lane number must be the
/// same at both ends of a connection, and only a lane keeps order: blocks that talk to each other or wait for each
/// other share a lane number, all others are independent.
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/collectives/plan/msccl_program.hpp"

namespace orrery::collectives::plan {

struct MscclWiring {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Block {
    Rank gpu = 0;
    const MscclBlock* block = nullptr;
    std::uint32_t first_of_gpu = 0;  ///< Index here of the GPU's first block.
    std::uint32_t receiver = kNone;  ///< Index here of the block its sends go to.
    std::uint32_t lane = 0;
  };
  std::vector<Block> blocks{};  ///< Of all GPUs.
  std::uint32_t lanes = 0;      ///< Of each GPU.
};

/// Keeps pointers into `program`. InputError when a connection lacks an end or has two.
[[nodiscard]] MscclWiring wire_msccl(const MscclProgram& program);

}  // namespace orrery::collectives::plan
