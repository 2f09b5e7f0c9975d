# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel in its variants: equal to one process that sees the whole batch."""

import copy

import torch
import torch.distributed as dist
from common import expect, run_cases, simulated_only
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, post_localSGD_hook, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

STEPS = 3


def model(seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2))


def batches(size):
    torch.manual_seed(2)
    return [torch.randn(size * 4, 8) for _ in range(STEPS)]


def close(first, second, tolerance=1e-5):
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.allclose(one, other, atol=tolerance, rtol=tolerance), (one - other).abs().max()


def reference(size):
    alone = model()
    optimizer = torch.optim.SGD(alone.parameters(), lr=0.1)
    for batch in batches(size):
        optimizer.zero_grad()
        alone(batch).square().mean().backward()
        optimizer.step()
    return alone


def train(rank, size, net, **options):
    parallel = DistributedDataParallel(net, **options)
    return train_wrapped(rank, size, parallel)


def train_wrapped(rank, size, parallel):
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
    for batch in batches(size):
        optimizer.zero_grad()
        parallel(batch.chunk(size)[rank]).square().mean().backward()
        optimizer.step()
    return parallel.module


def agree(rank, size, net):
    for parameter in net.parameters():
        mine = parameter.detach().clone()
        dist.broadcast(mine, 0)
        expect(mine, parameter.detach())


def case_plain(rank, size):
    trained = train(rank, size, model(seed=rank + 1) if rank else model())
    close(trained, reference(size))
    agree(rank, size, trained)


def case_small_buckets(rank, size):
    close(train(rank, size, model(), bucket_cap_mb=0.0005), reference(size))


def case_unused_parameters(rank, size):
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = model(), model()

        def forward(self, batch):
            return self.used(batch)

    close(train(rank, size, Branches(), find_unused_parameters=True).used, reference(size))


def case_static_graph_and_views(rank, size):
    close(train(rank, size, model(), static_graph=True, gradient_as_bucket_view=True), reference(size))


def case_accumulation(rank, size):
    parallel = DistributedDataParallel(model())
    batch = batches(size)[0].chunk(size)[rank]
    with parallel.no_sync():
        parallel(batch[:2]).square().mean().backward()
    parallel(batch[2:]).square().mean().backward()
    alone = model()
    for part in batches(size)[0].chunk(size):
        (alone(part).square().mean() * 2 / size).backward()
    for one, other in zip(parallel.parameters(), alone.parameters(), strict=True):
        assert torch.allclose(one.grad, other.grad, atol=1e-5)


def case_buffers(rank, size):
    net = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4))
    parallel = DistributedDataParallel(net)
    for _ in range(2):
        parallel(torch.randn(4, 8)).sum().backward()
    parallel(torch.randn(4, 8))
    agree(rank, size, nn.ParameterList([net[1].running_mean.clone()]) if rank < 0 else net[0])


def case_hooks(rank, size):
    for hook, tolerance in ((default_hooks.allreduce_hook, 1e-5), (default_hooks.fp16_compress_hook, 1e-2)):
        parallel = DistributedDataParallel(model())
        parallel.register_comm_hook(None, hook)
        close(train_wrapped(rank, size, parallel), reference(size), tolerance)


def case_hook_of_our_own(rank, size):
    def hook(state, bucket):
        buffer = bucket.buffer().div_(size)
        future = dist.all_reduce(buffer, async_op=True).get_future()
        return future.then(lambda done: done.value()[0])

    parallel = DistributedDataParallel(model(), bucket_cap_mb=0.0005)
    parallel.register_comm_hook(None, hook)
    close(train_wrapped(rank, size, parallel), reference(size))


def case_builtin_hook(rank, size):
    parallel = DistributedDataParallel(model())
    parallel._register_builtin_comm_hook(dist.BuiltinCommHookType.ALLREDUCE)
    close(train_wrapped(rank, size, parallel), reference(size))


@simulated_only  # Waits inside a callback, which may deadlock on gloo's threads.
def case_power_sgd(rank, size):
    parallel = DistributedDataParallel(model())
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=4, start_powerSGD_iter=2)
    parallel.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    agree(rank, size, train_wrapped(rank, size, parallel))


def case_post_local_sgd(rank, size):
    parallel = DistributedDataParallel(model())
    state = post_localSGD_hook.PostLocalSGDState(None, None, start_localSGD_iter=100)
    parallel.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
    close(train_wrapped(rank, size, parallel), reference(size))


def case_sparse_gradients(rank, size):
    torch.manual_seed(3)
    table = nn.Embedding(10, 4, sparse=True)
    parallel = DistributedDataParallel(copy.deepcopy(table))
    words = torch.arange(size * 2) % 10
    parallel(words.chunk(size)[rank]).sum().backward()
    expected = torch.zeros(10, 4)
    expected.index_add_(0, words, torch.ones(size * 2, 4) / size)
    assert torch.allclose(parallel.module.weight.grad.to_dense(), expected)


def case_synchronized_batch_norm_statistics(rank, size):
    mine = torch.full((4,), float(rank))
    parts = [torch.empty(4) for _ in range(size)]
    dist.all_gather(parts, mine)
    expect(torch.stack(parts).mean(0), torch.full((4,), (size - 1) / 2))


def case_uneven_inputs(rank, size):
    from torch.distributed.algorithms.join import Join

    parallel = DistributedDataParallel(model())
    with Join([parallel]):
        for _ in range(rank + 1):
            parallel(torch.randn(2, 8)).sum().backward()


def case_optimizer_shards(rank, size):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    parallel = DistributedDataParallel(model())
    optimizer = ZeroRedundancyOptimizer(parallel.parameters(), torch.optim.SGD, lr=0.1)
    for batch in batches(size):
        optimizer.zero_grad()
        parallel(batch.chunk(size)[rank]).square().mean().backward()
        optimizer.step()
    close(parallel.module, reference(size))


if __name__ == "__main__":
    run_cases(globals())
