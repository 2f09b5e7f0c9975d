# SPDX-License-Identifier: Apache-2.0
"""Pipelines of torch.distributed.pipelining, under each schedule: equal to one process."""

import torch
from common import run_cases
from torch import nn
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
)

WIDTH, MICROBATCHES = 8, 4


def layers(count):
    torch.manual_seed(1)
    return [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(count)]


def loss(output, target):
    return (output - target).square().mean()


def data(size):
    torch.manual_seed(2)
    return torch.randn(4 * size, WIDTH), torch.randn(4 * size, WIDTH)


def alone(count, batch, target):
    """Gradients and loss of the whole, by microbatch as the schedules do."""
    net = nn.Sequential(*layers(count))
    losses = []
    for part, wanted in zip(batch.chunk(MICROBATCHES), target.chunk(MICROBATCHES), strict=True):
        value = loss(net(part), wanted)
        (value / MICROBATCHES).backward()
        losses.append(value.item())
    return net, losses


def check(rank, size, stages, indices, schedule):
    batch, target = data(MICROBATCHES)
    net, expected = alone(len(stages) * size, batch, target)
    losses = []
    is_first, is_last = 0 in indices, len(stages) * size - 1 in indices
    arguments = (batch,) if is_first else ()
    options = {"target": target, "losses": losses} if is_last else {}
    output = schedule.step(*arguments, **options)
    if is_last:
        assert torch.allclose(torch.stack([v.detach() for v in losses]), torch.tensor(expected), atol=1e-5)
        assert torch.allclose(output, net(batch), atol=1e-5)
    for index, stage in zip(indices, stages, strict=True):
        for mine, other in zip(stage.parameters(), net[index].parameters(), strict=True):
            assert torch.allclose(mine.grad, other.grad, atol=1e-5)


def case_one_stage_per_rank(rank, size):
    for kind in (ScheduleGPipe, Schedule1F1B):
        stage = layers(size)[rank]
        schedule = kind(
            PipelineStage(stage, rank, size, torch.device("cpu")), MICROBATCHES, loss_fn=loss, scale_grads=True
        )
        check(rank, size, [stage], [rank], schedule)


def case_two_stages_per_rank(rank, size):
    if size > MICROBATCHES:
        return
    for kind in (ScheduleInterleaved1F1B, ScheduleLoopedBFS):
        if kind is ScheduleInterleaved1F1B and MICROBATCHES % size:
            continue
        indices = [rank, rank + size]
        stages = [layers(2 * size)[index] for index in indices]
        schedule = kind(
            [
                PipelineStage(stage, index, 2 * size, torch.device("cpu"))
                for stage, index in zip(stages, indices, strict=True)
            ],
            MICROBATCHES,
            loss_fn=loss,
            scale_grads=True,
        )
        check(rank, size, stages, indices, schedule)


if __name__ == "__main__":
    run_cases(globals())
