# SPDX-License-Identifier: Apache-2.0
"""Programs whose threads use the network in turns, and that set themselves alarms: none hangs, and clocks are right."""

import re
from collections.abc import Callable

import pytest
from live_case import BEGIN, Case, Outcome, check, ids

WORKER = """
import queue, threading
tasks, done = queue.Queue(), threading.Event()
def work():
    while (x := tasks.get()) is not None:
        dist.all_reduce(x)
        done.set()
worker = threading.Thread(target=work)
worker.start()
x = torch.ones(1)
tasks.put(x)
done.wait()
began = time.time()
"""
END = """
tasks.put(None)
worker.join()
dist.barrier()
print(f"{rank} took {time.time() - began:.1f}", flush=True)
"""

# A thread of its own does what the program asks of the network, and then waits for more.
CASES = [
    Case("main_polls_the_clock", BEGIN + WORKER + "while time.time() - began < 0.3: sum(range(1000))\n" + END),
    Case(
        "main_waits_with_a_timeout",
        BEGIN
        + WORKER
        + "time.sleep(0.1)\nif rank == 1: time.sleep(20)\n"
        + "done.clear()\ntasks.put(x)\nassert done.wait(timeout=300)\n"
        + END,
    ),
    Case("main_sleeps", BEGIN + WORKER + "time.sleep(40)\n" + END),
    Case(
        "main_joins_sleepers",
        BEGIN
        + WORKER
        + "sleepers = [threading.Thread(target=time.sleep, args=(30,)) for _ in range(3)]\n"
        + "for one in sleepers: one.start()\nfor one in sleepers: one.join()\n"
        + END,
    ),
    Case(
        "after_an_executor",
        BEGIN
        + "import asyncio\n"
        + "async def main():\n"
        + "    await asyncio.get_running_loop().run_in_executor(None, dist.barrier)\n"
        + "    began = time.time()\n    await asyncio.sleep(20)\n    time.sleep(20)\n"
        + "    print(f'{rank} took {time.time() - began:.1f}', flush=True)\n"
        + "asyncio.run(main())\ndist.barrier()\n",
    ),
    Case(
        "alarm",
        BEGIN
        + "import signal\n"
        + "def late(*_): raise TimeoutError\n"
        + "signal.signal(signal.SIGALRM, late)\nbegan = time.time()\nsignal.alarm(30)\n"
        + "try: time.sleep(3600)\nexcept TimeoutError: print(f'{rank} took {time.time() - began:.1f}', flush=True)\n"
        + "dist.barrier()\n",
    ),
    Case(
        "timer",
        BEGIN
        + "import signal\n"
        + "hits = []\nsignal.signal(signal.SIGALRM, lambda *_: hits.append(1))\nbegan = time.time()\n"
        + "signal.setitimer(signal.ITIMER_REAL, 10, 5)\nwhile len(hits) < 3: signal.pause()\n"
        + "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        + "print(f'{rank} took {time.time() - began:.1f}', flush=True)\ndist.barrier()\n",
    ),
]
SECONDS = {
    "main_polls_the_clock": 0.3,
    "main_waits_with_a_timeout": 20.1,
    "main_sleeps": 40,
    "main_joins_sleepers": 30,
    "after_an_executor": 40,
    "alarm": 30,
    "timer": 20,
}
for one in CASES:
    one.words, one.seconds = ["-n", "2"], 30


@pytest.mark.parametrize("case", ids(CASES))
def test_time_goes_on(case: Case, ahead: Callable[[Case], Outcome]) -> None:
    outcome = ahead(case)
    check(case, outcome)
    took = dict(re.findall(r"^(\d) took ([\d.]+)$", outcome.stdout, re.MULTILINE))
    assert sorted(took) == ["0", "1"], str(outcome)
    for value in took.values():
        assert SECONDS[case.name] - 0.1 <= float(value) <= SECONDS[case.name] + 0.5, str(outcome)
