# SPDX-License-Identifier: Apache-2.0
"""The end of a program's warm-up, where the ranks themselves must see it: after some optimizer steps, or at a mark.

    orrery run --warmup 3 ...            the third step of an optimizer ends it
    orrery run --warmup mark:timed ...   torch.profiler.record_function("timed") ends it
"""

import ctypes
import os


def watch() -> None:
    """Called once, when torch is there and before the program."""
    asked = os.environ.get("ORRERY_WARMUP", "")
    if asked.startswith("mark:"):
        watch_marks(asked.removeprefix("mark:"))
    elif asked.isdigit():
        watch_steps(int(asked))


def end() -> None:
    ctypes.CDLL(None).orrery_mark()


def watch_steps(count: int) -> None:
    from torch.optim.optimizer import register_optimizer_step_post_hook

    steps = 0

    def step(*_) -> None:
        nonlocal steps
        steps += 1
        if steps == count:
            end()

    register_optimizer_step_post_hook(step)


def watch_marks(name: str) -> None:
    from torch.autograd.profiler import record_function

    stock = record_function.__enter__

    def enter(self):
        if self.name == name:
            end()
        return stock(self)

    record_function.__enter__ = enter
