# SPDX-License-Identifier: Apache-2.0
"""Real runs: what they note, how they end, and that nothing of them is left."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from orrery.live import recording

TRAIN = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group()
model = DistributedDataParallel(torch.nn.Linear(64, 64))
dist.barrier()
for _ in range(3):
    model(torch.ones(4, 64)).sum().backward()
x = torch.full((256,), float(dist.get_rank()))
dist.all_reduce(x)
assert x[0] == 1
if dist.get_rank() == 0:
    dist.send(x, 1)
else:
    dist.recv(x, 0)
dist.barrier()
dist.destroy_process_group()
"""
SLEEP = """
import time, torch.distributed as dist
dist.init_process_group()
print('ready', flush=True)
time.sleep(60)
"""
RAISE = """
import torch.distributed as dist
dist.init_process_group()
assert dist.get_rank() == 0, 'on purpose'
dist.barrier()
"""
NAP_BESIDE = """
import threading, time, torch.distributed as dist
dist.init_process_group()

def nap():
    while True: time.sleep(0.01)

threading.Thread(target=nap, daemon=True).start()
dist.barrier()
until = time.monotonic() + 0.5
while time.monotonic() < until: pass
time.sleep(0.1)
dist.barrier()
dist.destroy_process_group()
"""
#: Rank 1 never comes to the monitored barrier, and late to the collective after it.
MISSED = """
import time, torch, torch.distributed as dist
from datetime import timedelta
dist.init_process_group("gloo")
other = dist.new_group()
if dist.get_rank() == 0:
    try: dist.monitored_barrier(timeout=timedelta(seconds=1))
    except RuntimeError: pass
else:
    time.sleep(3)
dist.all_reduce(torch.ones(256), group=other)
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


def orrery(command: Path, folder: Path, *words: object, code: int = 0) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run([str(command), *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, f"{done.args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def script(folder: Path, text: str) -> Path:
    path = folder / "script.py"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def measured(command: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    words = ["run", "--real", "-n", 2, "--repeat", 3, "--warmup", "barrier:1", "--out", "out", script(folder, TRAIN)]
    said = orrery(command, folder, *words).stderr
    assert "launch 2 of 3, after " in said and "launch 3 of 3, after " in said, said
    return folder / "out"


def test_a_result_has_the_form_of_a_simulated_one(measured: Path):
    result = json.loads((measured / "result.json").read_text())
    assert result["kind"] == "real"
    assert len(result["repeats"]) == 3
    assert result["operations"] in [one["operations"] for one in result["repeats"]], "without the warm-up"
    assert result["total_ps"] == sorted(one["total_ps"] for one in result["repeats"])[1]
    for rank in result["ranks"]:
        parts = sum(rank[f"{part}_ps"] for part in ("compute", "communication", "waiting", "sleeping"))
        assert abs(parts - (rank["finish_ps"] - result["begin_ps"])) < 0.2 * parts
        assert rank["exit_status"] == 0
    assert json.loads((measured / "manifest.json").read_text())["configuration"]["repeat"] == "3"


def test_operations_of_every_layer_of_torch_are_seen(measured: Path):
    lines = [line for line in (measured / "events.csv").read_text().splitlines() if not line.startswith("#")]
    rows = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    counted = json.loads((measured / "result.json").read_text())["repeats"][0]["operations"]
    calls = {one["name"]: one["calls"] for one in counted}
    assert calls["all_reduce"] == 2 * (3 + 1)  # DDP's gradients, by C++, and the script's own.
    assert calls["send"] == calls["recv"] == 1
    for row in rows:
        assert int(row["posted_ps"]) <= int(row["began_ps"]) <= int(row["done_ps"])
    own = [row for row in rows if row["operation"] == "send"]
    assert own[0]["where"].startswith('"script.py:') and own[0]["bytes"] == "1024"


def test_a_rank_that_raises_ends_the_run(command: Path, tmp_path: Path):
    done = orrery(command, tmp_path, "run", "--real", "-n", 2, "--out", "out", script(tmp_path, RAISE), code=3)
    assert "on purpose" in done.stderr
    assert "rank" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_only_sleeps_of_the_programs_thread_count(command: Path, tmp_path: Path):
    done = orrery(command, tmp_path, "run", "--real", "-n", 2, "--json", script(tmp_path, NAP_BESIDE))
    for rank in json.loads(done.stdout)["ranks"]:
        assert 0.1e12 <= rank["sleeping_ps"] < 0.4e12, rank
        assert rank["compute_ps"] >= 0.4e12, rank


def test_a_monitored_barrier_that_fails_is_over(command: Path, tmp_path: Path):
    orrery(command, tmp_path, "run", "--real", "-n", 2, "--out", "out", script(tmp_path, MISSED))
    rank = json.loads((tmp_path / "out" / "result.json").read_text())["ranks"][0]
    assert rank["waiting_ps"] + rank["communication_ps"] >= 2.5e12, "both waits are noted"
    lines = [line for line in (tmp_path / "out" / "events.csv").read_text().splitlines() if not line.startswith("#")]
    rows = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    (barrier,) = [row for row in rows if row["operation"] == "monitored_barrier"]
    assert 0.9e12 < int(barrier["done_ps"]) - int(barrier["posted_ps"]) < 2e12


def test_without_a_boot_id_the_host_names_the_clock(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> str:
        raise PermissionError

    monkeypatch.setattr(recording.Path, "read_text", refuse)
    assert recording.clock_name("here") == "here"


def test_options_of_the_other_kind_of_run_are_refused(command: Path, tmp_path: Path):
    path = script(tmp_path, "pass\n")
    for words, text in (
        (["--real", "-n", 2, "--cluster", "laptop"], "--cluster"),
        (["-n", 2, "--cluster", "laptop", "--repeat", 2], "--real"),
        (["--real"], "-n"),
        (["--real", "-n", 2, "--link", "fast"], "1Gbps"),
        (["--real", "-n", 2, "--warmup", "soon"], "barrier:N"),
        (["-n", 2], "--cluster"),
    ):
        assert text in orrery(command, tmp_path, "run", *words, path, code=2).stderr


def processes_of(folder: Path) -> list[str]:
    """Command lines that name the folder: of launcher and ranks."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(folder) in line:
                found.append(line)
    return found


def interfaces() -> set[str]:
    return {entry.name for entry in Path("/sys/class/net").iterdir()}


def namespaces() -> set[str]:
    """Network namespaces that any process lives in."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            found.add(os.readlink(entry / "ns" / "net"))
        except OSError:
            continue
    return found


@needs_root
@pytest.mark.parametrize("how", [None, signal.SIGINT, signal.SIGTERM, signal.SIGKILL, "raise"])
def test_nothing_is_left_after_any_ending(command: Path, tmp_path: Path, how: object):
    before = namespaces()
    text = SLEEP if how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL) else TRAIN
    text = "raise SystemExit(4)\n" if how == "raise" else text
    words = [str(command), "run", "--real", "-n", "2", "--link", "1Gbps", str(script(tmp_path, text))]
    run = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if isinstance(how, signal.Signals):
        assert run.stdout.readline().strip() == "ready"
        assert len(namespaces() - before) >= 2, "every rank has a namespace of its own"
        os.kill(run.pid, how)
    _, errors = run.communicate(timeout=120)
    assert run.returncode == {None: 0, "raise": 3}.get(how, None) if not isinstance(how, signal.Signals) else True
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (processes_of(tmp_path) or namespaces() - before):
        time.sleep(0.1)
    assert processes_of(tmp_path) == [], errors
    assert namespaces() - before == set()
    assert not any(name.startswith(("orrery", "bridge0", "port")) for name in interfaces())


@needs_root
def test_a_link_holds_its_rate(command: Path, tmp_path: Path):
    text = (
        "import torch, torch.distributed as dist\ndist.init_process_group()\nx = torch.ones(1 << 19)\n"
        "dist.barrier()\ndist.broadcast(x, 0)\ndist.barrier()\ndist.destroy_process_group()\n"
    )
    words = ["run", "--real", "-n", 2, "--link", "100Mbps", "--warmup", "barrier:1", "--json", script(tmp_path, text)]
    seconds = json.loads(orrery(command, tmp_path, *words).stdout)["total_ps"] / 1e12
    assert 0.16 < seconds, "2 MiB at 100 Mbit/s take 168 ms at least"


@needs_root
def test_ranks_on_a_bridge_can_be_launched_again(command: Path, tmp_path: Path):
    text = "import torch.distributed as dist\ndist.init_process_group()\ndist.barrier()\n"
    words = ["run", "--real", "-n", 3, "--link", "1Gbps", "--repeat", 4, "--json", script(tmp_path, text)]
    assert len(json.loads(orrery(command, tmp_path, *words).stdout)["repeats"]) == 4


def test_without_root_a_link_says_what_is_missing(command: Path, tmp_path: Path):
    if os.geteuid() == 0:
        tmp_path.chmod(0o755)
        words = ["setpriv", "--reuid=65534", "--clear-groups", str(command)]
    else:
        words = [str(command)]
    words += ["run", "--real", "-n", "2", "--link", "1Gbps", str(script(tmp_path, "pass\n"))]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 126:
        pytest.skip("this command cannot be run by another user here")
    assert done.returncode == 2 and "needs root" in done.stderr, done.stderr


def test_compare_finds_the_operation_that_makes_the_difference(measured: Path, command: Path, tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    result = json.loads((measured / "result.json").read_text())
    for repeat in result["repeats"]:
        repeat["total_ps"] += 10**12
        for one in repeat["operations"]:
            one["time_ps"] += 2 * 10**12 * (one["name"] == "send")
    (other / "result.json").write_text(json.dumps(result))
    compared = json.loads(orrery(command, tmp_path, "compare", other, measured, "--json", "--svg", "d.svg").stdout)
    assert compared["operations"][0]["name"] == "send"
    assert compared["operations"][0]["share_of_difference"] == pytest.approx(1)
    total = compared["figures"][0]
    assert total["a_ps"] - total["b_ps"] == pytest.approx(10**12)
    assert total["p_value"] == pytest.approx(0.1)  # Three against three that do not overlap.
    assert (tmp_path / "d.svg").read_text().startswith("<svg")


def test_compare_says_what_else_is_unlike(measured: Path, command: Path, tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    result = json.loads((measured / "result.json").read_text())
    assert json.loads(orrery(command, tmp_path, "compare", measured, measured, "--json").stdout)["notes"] == []
    result["ranks"].append(result["ranks"][0])
    for repeat in result["repeats"]:
        repeat["ranks"].append(repeat["ranks"][0])
    result["manifest"]["configuration"] |= {"program": "/elsewhere/script.py --steps 4", "warmup": ""}
    (other / "result.json").write_text(json.dumps(result))
    assert orrery(command, tmp_path, "compare", measured, other).stdout.splitlines()[2:5] == [
        "note: unlike number of ranks: 2 in A, 3 in B",
        "note: unlike program: script.py in A, script.py --steps 4 in B",
        "note: unlike warm-up: barrier:1 in A, none in B",
    ]


def test_compare_counts_calls_of_a_rank(measured: Path, command: Path, tmp_path: Path):
    compared = json.loads(orrery(command, tmp_path, "compare", measured, measured, "--json").stdout)
    calls = {one["name"]: one["a_calls"] for one in compared["operations"]}
    assert calls["all_reduce"] == 3 + 1
    assert calls["send"] == 0.5  # One of the two.


def test_compare_refuses_what_is_no_result(command: Path, tmp_path: Path):
    assert "no such folder" in orrery(command, tmp_path, "compare", "a", "b", code=2).stderr
    (tmp_path / "a").mkdir()
    assert "result.json" in orrery(command, tmp_path, "compare", "a", "a", code=2).stderr
    (tmp_path / "a" / "result.json").write_text("{")
    assert "no JSON" in orrery(command, tmp_path, "compare", "a", "a", code=2).stderr
