// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which tensors a node reads and writes, where its trace says so.
#include <vector>

#include "orrery/chakra/node.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::chakra {

/// Appends them, those read first. Two forms are known: lists of texts named "inputs" and "outputs", each tensor's name
/// followed by its bytes, as generators write; and PyTorch's inputs and outputs, where a tensor is
/// [id, storage, offset, elements, bytes of one, 'device'] and what takes memory is its storage. Anything else says
/// nothing of memory.
void append_tensors(const Node& node, std::vector<workload::TensorUse>& uses);

}  // namespace orrery::chakra
