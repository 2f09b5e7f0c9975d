# SPDX-License-Identifier: Apache-2.0
"""Fully sharded training, tensor parallelism, DTensor, checkpoints: equal to one process."""

import copy
import tempfile

import torch
import torch.distributed as dist
from common import expect, run_cases, simulated_only
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


def model(width=12):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


def batches(size):
    torch.manual_seed(2)
    return [torch.randn(size * 2, 12) for _ in range(3)]


def steps(net, inputs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for batch in inputs:
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
    return net


def case_fully_shard(rank, size):
    net = model()
    for layer in net:
        if list(layer.parameters()):
            fully_shard(layer)
    fully_shard(net)
    steps(net, [batch.chunk(size)[rank] for batch in batches(size)])
    alone = steps(model(), batches(size))
    for mine, other in zip(net.parameters(), alone.parameters(), strict=True):
        assert torch.allclose(mine.full_tensor(), other, atol=1e-5), (mine.full_tensor() - other).abs().max()


@simulated_only
def case_fully_shard_in_half_precision(rank, size):
    net = fully_shard(model(), mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    steps(net, [batch.chunk(size)[rank] for batch in batches(size)])
    alone = steps(model(), batches(size))
    for mine, other in zip(net.parameters(), alone.parameters(), strict=True):
        assert torch.allclose(mine.full_tensor(), other, atol=0.05)


def case_hybrid(rank, size):
    if size % 2:
        return
    mesh = init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("replicate", "shard"))
    net = fully_shard(model(), mesh=mesh)
    steps(net, [batch.chunk(size)[rank] for batch in batches(size)])
    alone = steps(model(), batches(size))
    for mine, other in zip(net.parameters(), alone.parameters(), strict=True):
        assert torch.allclose(mine.full_tensor(), other, atol=1e-5)


def case_first_generation(rank, size):
    net = FullyShardedDataParallel(model(), device_id=torch.device("cpu"))
    steps(net, [batch.chunk(size)[rank] for batch in batches(size)])
    with FullyShardedDataParallel.summon_full_params(net):
        alone = steps(model(), batches(size))
        for mine, other in zip(net.parameters(), alone.parameters(), strict=True):
            assert torch.allclose(mine.view(-1), other.view(-1), atol=1e-5)


def case_tensor_parallel(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    net = parallelize_module(model(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    alone = model()
    for batch in batches(size):
        mine, other = net(batch), alone(batch)
        assert torch.allclose(mine, other, atol=1e-5)
        mine.square().mean().backward()
        other.square().mean().backward()
    for mine, other in zip(net.parameters(), alone.parameters(), strict=True):
        grad = mine.grad.full_tensor() if isinstance(mine.grad, DTensor) else mine.grad
        assert torch.allclose(grad, other.grad, atol=1e-5)


def case_sequence_parallel(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(1)
    alone = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 4 * size), nn.Linear(4 * size, 8))
    plan = {
        "0": SequenceParallel(),
        "1": ColwiseParallel(input_layouts=Shard(1)),
        "2": RowwiseParallel(output_layouts=Replicate()),
    }
    net = parallelize_module(copy.deepcopy(alone), mesh, plan)
    torch.manual_seed(5)
    batch = torch.randn(2, 2 * size, 8)
    mine = net(distribute_tensor(batch, mesh, [Shard(1)]))
    mine = mine.full_tensor() if isinstance(mine, DTensor) else mine
    assert torch.allclose(mine, alone(batch), atol=1e-5)


def case_layouts(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(4)
    whole = torch.randn(size * 2, size * 3)
    rows = distribute_tensor(whole, mesh, [Shard(0)])
    expect(rows.to_local(), whole.chunk(size)[rank])
    columns = rows.redistribute(mesh, [Shard(1)])
    expect(columns.to_local(), whole.chunk(size, 1)[rank].contiguous())
    expect(columns.redistribute(mesh, [Replicate()]).to_local(), whole)
    partial = DTensor.from_local(torch.ones(2, 2), mesh, [Partial()])
    expect(partial.full_tensor(), torch.full((2, 2), float(size)))
    uneven = distribute_tensor(torch.arange(size + 1.0), mesh, [Shard(0)])
    expect(uneven.full_tensor(), torch.arange(size + 1.0))


def case_checkpoint(rank, size):
    import torch.distributed.checkpoint as checkpoint

    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, src=0)
    net = fully_shard(model())
    state = {"net": net.state_dict()}
    checkpoint.save(state, checkpoint_id=folder[0])
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
    state = {"net": net.state_dict()}
    checkpoint.load(state, checkpoint_id=folder[0])
    net.load_state_dict(state["net"])
    for mine, other in zip(net.parameters(), model().parameters(), strict=True):
        expect(mine.full_tensor().detach(), other.detach())


if __name__ == "__main__":
    run_cases(globals())
