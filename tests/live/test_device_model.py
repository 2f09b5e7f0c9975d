# SPDX-License-Identifier: Apache-2.0
"""`--compute model`: times come from the device's description alone, so they are the same on any machine and follow
from arithmetic."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from live_case import BEGIN, Case, Outcome, check, execute, ids

#: A byte takes a nanosecond, an operation a picosecond, a kernel 100 ns more, and the host 10 ns per operator.
DEVICE = "peak: 1Tflops, memory_bandwidth: 1GBps, launch_overhead: 100ns, host_overhead: 10ns"


def cluster(folder: Path, device: str = DEVICE, extra: str = "") -> None:
    (folder / "cluster.yaml").write_text(
        f"name: modelled\ndevices:\n  toy: {{{device}}}\n{extra}"
        "topology: {switch: {hosts: 4, bandwidth: 1GBps, latency: 1us, device: toy}}\n"
    )


TRAINING = BEGIN + """
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(
    torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 8)))
optimizer = torch.optim.AdamW(model.parameters())
for step in range(2):
    loss = model(torch.randn(16, 32)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0: print(loss.item(), time.time())
dist.destroy_process_group()
"""


def twice(case: Case, command: Path, folder: Path) -> list[Outcome]:
    """Twice, and then from the ledger of the first run."""
    cluster(folder, DEVICE + ", compute_scale: 3")
    words = (["--compute", "model"], ["--compute", "model", "--jobs", "2"], ["--compute", "ledger:0"])
    return [
        execute(
            Case(str(i), TRAINING, words=["-n", "2", *more, "--out", str(i)], cluster="cluster.yaml"), command, folder
        )
        for i, more in enumerate(words)
    ]


REPEATED = Case("repeated", run=twice)


@pytest.mark.parametrize("case", ids([REPEATED]))
def test_two_runs_give_the_same_bytes(case: Case, ahead: Callable) -> None:
    outcomes = ahead(case)
    for done in outcomes:
        assert done.code == 0, str(done)
    folder = outcomes[0].folder
    results = [json.loads((folder / str(i) / "result.json").read_text()) for i in range(3)]
    assert results[0]["ranks"] == results[1]["ranks"]
    assert results[0]["manifest"]["digest"] == results[1]["manifest"]["digest"]
    for rank in range(2):
        ledgers = [(folder / str(i) / "ledger" / f"rank_{rank:05}.ledger").read_bytes() for i in range(2)]
        assert ledgers[0] == ledgers[1]
    assert [rank["finish_ps"] for rank in results[2]["ranks"]] == [rank["finish_ps"] for rank in results[0]["ranks"]]
    assert outcomes[0].stdout.splitlines()[:2] == outcomes[1].stdout.splitlines()[:2]


def timed(*statements: str, setup: str = "") -> str:
    """A program that prints what each statement takes, in nanoseconds."""
    lines = [BEGIN, "a, b = torch.ones(100), torch.ones(100)", "m, n = torch.ones(64, 32), torch.ones(32, 16)", setup]
    for statement in statements:
        lines += ["begin = time.time_ns()", statement, "print(round(time.time_ns() - begin))"]
    return "\n".join(lines)


def model_case(name: str, program: str, device: str = DEVICE, **options: object) -> Case:
    return Case(
        name,
        program,
        words=["-n", "1", "-q", "--compute", "model"],
        cluster="cluster.yaml",
        prepare=lambda folder: cluster(folder, device),
        **options,
    )


# An elementwise sum moves 3 * 400 bytes; a product of 64x32 and 32x16 moves 4 * (2048 + 512 + 1024) bytes and needs
# 65536 operations; a view is a dispatch. Python between operators takes no time, a look at the clock 1 ns at least.
ARITHMETIC = model_case(
    "arithmetic", timed("c = a + b", "c = m @ n", "c = m.t()", "c = a + 1; c = c * 2", "sum(range(1000))")
)
QUEUED = model_case(
    "queued",
    timed("c = m @ n; c = c + 1", "c = a.view(10, 10); c = c.t()", "c = (a + b).sum().item()"),
    DEVICE.replace("host_overhead: 10ns", "host_overhead: 5us") + ", asynchronous: true",
)


@pytest.mark.parametrize("case", ids([ARITHMETIC]))
def test_times_follow_from_the_description(case: Case, ahead: Callable) -> None:
    done = ahead(case)
    assert done.code == 0, str(done)
    times = list(map(int, done.stdout.split()))
    assert times == [1310, 4 * 3584 + 110, 10, 2 * (800 + 110), 1]


@pytest.mark.parametrize("case", ids([QUEUED]))
def test_a_device_with_a_queue_works_while_the_host_launches(case: Case, ahead: Callable) -> None:
    done = ahead(case)
    assert done.code == 0, str(done)
    times = list(map(int, done.stdout.split()))
    product = 4 * 3584 + 100
    assert times[0] == 5000 + product + (2 * 4096 + 100)  # The second launch is hidden behind the first kernel.
    assert times[1] == 10000  # Two views.
    # The host launches the sums at 5 and 10 us, and waits at 15 us for what has long ended.
    assert times[2] == 15000


WRONG: list[Case] = []


def wrong(
    name: str, *said: str, device: str = DEVICE, files: dict[str, str] | None = None, compute: str = "model"
) -> None:
    def prepare(folder: Path) -> None:
        cluster(folder, device)
        for path, text in (files or {}).items():
            (folder / path).write_text(text)

    words = ["-n", "1", "--compute", compute]
    program = "raise SystemExit('ran')"
    WRONG.append(Case(name, program, words=words, cluster="cluster.yaml", prepare=prepare, code=2, said=said))


HEADER = "operator,dtype,sizes,time\n"
TABLE = DEVICE + ", operators: table.csv"
wrong("no peak", "device 'toy' does not say its peak", device="memory_bandwidth: 1GBps")
wrong("no bandwidth", "device 'toy' does not say its memory_bandwidth", device="peak: 1Tflops")
wrong("unknown field", "did you mean 'host_overhead'", device="peak: 1Tflops, host_overheat: 3us")
wrong("unknown type", "peaks", "bf17", device="peak: 1Tflops, peaks: {bf17: 2Tflops}")
wrong("efficiency of nothing", r"memory_efficiency.gemm: '0'", device=DEVICE + ", memory_efficiency: {gemm: 0}")
wrong("no table", "table.csv", device=TABLE)
wrong("empty table", r"table.csv:\d+:1: .*no profiled operators", device=TABLE, files={"table.csv": HEADER})
wrong(
    "bad line of a table",
    r"table.csv:2:1: time: '5': expected a time",
    device=TABLE,
    files={"table.csv": HEADER + "gemm,fp32,1x2x3x4,5\n"},
)
wrong("unknown form", "--compute: 'model:rooflin': expected model", "did you mean 'roofline'", compute="model:rooflin")


@pytest.mark.parametrize("case", ids(WRONG))
def test_bad_devices_are_named(case: Case, ahead: Callable) -> None:
    check(case, ahead(case))


UNKNOWN = model_case("unknown operator", BEGIN + "torch.fft.fft(torch.ones(64))\n")
UNKNOWN.words.remove("-q")
TABLED = Case(
    "table",
    BEGIN + "a = torch.ones(64, 64)\nfor n in (64, 64, 640): torch.ones(64, 64) @ torch.ones(64, n)\n",
    words=["-n", "1", "--compute", "model"],
    cluster="cluster.yaml",
    prepare=lambda folder: (
        cluster(folder, TABLE),
        (folder / "table.csv").write_text(HEADER + "gemm,fp32,1x64x64x64,70us\ngemm,fp32,1x64x128x64,130us\n"),
    ),
)


@pytest.mark.parametrize("case", ids([UNKNOWN, TABLED]))
def test_what_the_model_does_not_know_is_noted(case: Case, ahead: Callable) -> None:
    done = ahead(case)
    assert done.code == 0, str(done)
    expected = "for want of a rule: _fft_r2c" if case is UNKNOWN else "1 of 10 operators lie beyond"
    assert expected in done.stdout, str(done)
