# SPDX-License-Identifier: Apache-2.0
"""What a program can ask its GPU: properties, memory, and the same through torch.accelerator.

    orrery run -n 2 --cluster hgx-h100 --device-map cuda=cpu examples/cuda/memory.py
"""

import os

import torch
import torch.distributed as dist


def main() -> None:
    assert torch.cuda.is_available() and torch.accelerator.is_available()
    device = torch.accelerator.current_accelerator()
    torch.accelerator.set_device_index(int(os.environ["LOCAL_RANK"]))
    assert device.type == "cuda" and torch.accelerator.current_device_index() == torch.cuda.current_device()
    assert torch.accelerator.device_count() == torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    dist.init_process_group(dist.get_default_backend_for_device(device))
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    major, minor = torch.cuda.get_device_capability()
    assert (properties.major, properties.minor) == (major, minor)

    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    block = torch.empty(1 << 20, dtype=torch.float32, device=device)
    assert torch.cuda.memory_allocated() - before == 4 << 20
    twice = block * 2
    del block, twice
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() - before >= 8 << 20
    free, total = torch.cuda.mem_get_info()
    assert total == properties.total_memory and free <= total
    try:
        torch.empty(2 * total, dtype=torch.uint8, device="cuda")
        raise SystemExit("more memory than there is")
    except torch.OutOfMemoryError as problem:
        message = str(problem).split(". ")[0]
    state = torch.cuda.get_rng_state()
    first = torch.randn(4, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.randn(4, device="cuda"))
    torch.cuda.nvtx.range_push("a range")
    torch.cuda.nvtx.range_pop()
    torch.accelerator.synchronize()
    if dist.get_rank() == 0:
        print(f"{properties.name}, capability {major}.{minor}, {total / 1e9:.0f} GB; beyond it: {message}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
