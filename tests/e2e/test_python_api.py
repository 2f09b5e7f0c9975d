# SPDX-License-Identifier: Apache-2.0
"""`import orrery`: the same answers as the command, as plain data."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

orrery_module = pytest.importorskip("orrery")
STAR = "star:hosts=4,bandwidth=1GBps,latency=500us"


def test_the_call_and_the_command_give_the_same(orrery):
    arguments = ["all_reduce", "--cluster", "hgx-h100", "--size", "1KiB,1MiB", "--json"]
    shown = json.loads(orrery("collective", *arguments).stdout)
    called = orrery_module.collective("all_reduce", "hgx-h100", size="1KiB,1MiB")
    for data in (shown, called):
        del data["manifest"]["command"]
    assert called == shown


def test_sizes_and_groups_in_python_form():
    algorithms = ["ring", "direct"]
    data = orrery_module.collective("all_reduce", STAR, size=[1024, "2KiB"], group=[0, 2, 3], algorithm=algorithms)
    assert [row["size_bytes"] for row in data["results"]] == [1024, 1024, 2048, 2048]
    assert {row["ranks"] for row in data["results"]} == {3}
    (row,) = orrery_module.collective("all_gather", STAR, sizes=[4_000_000, 0, 0, 0], algorithm="direct")["results"]
    assert row["time_ps"] == 13_000_000_000


def test_errors():
    with pytest.raises(orrery_module.InputError, match="did you mean 'hgx-h100'") as caught:
        orrery_module.collective("all_reduce", "hgx-h10")
    assert isinstance(caught.value, ValueError)
    with pytest.raises(orrery_module.InputError, match=r"^size: '5'"):
        orrery_module.collective("all_reduce", STAR, size="5")
    with pytest.raises(orrery_module.InputError, match="ranks"):
        orrery_module.collective("all_reduce", STAR, ranks=2.5)
    with pytest.raises(orrery_module.InputError, match="nothing of that name"):
        orrery_module.describe("flwo")
    assert issubclass(orrery_module.SimulationError, RuntimeError)
    assert issubclass(orrery_module.Bug, Exception)


def test_simulation_error(tmp_path):
    (tmp_path / "c.yaml").write_text(
        "topology: {star: {hosts: 2, bandwidth: 1Gbps, latency: 1us}}\n"
        "events: [{at: 1us, link: 'host[0] - switch', state: down}]\n"
    )
    with pytest.raises(orrery_module.SimulationError, match="rank 0"):
        orrery_module.collective("all_reduce", tmp_path / "c.yaml", algorithm="ring")


def test_cluster(tmp_path):
    cluster = orrery_module.Cluster.load("hgx-h100")
    assert (cluster.name, cluster.nodes, cluster.edges, cluster.ranks) == ("hgx-h100", 9, 8, 8)
    assert cluster.warnings == []
    assert "8" in cluster.summary()
    assert cluster.svg().startswith("<")
    assert cluster.check()["ranks"] == 8
    assert len(cluster.graph()["nodes"]) == 9
    for text in (cluster.to_infragraph(), cluster.to_native()):
        path = tmp_path / "copy.yaml"
        path.write_text(text)
        assert orrery_module.Cluster.load(path).ranks == 8
    assert "hgx-h100" in repr(cluster)


def test_describe_and_clusters():
    kinds = {entry["kind"] for entry in orrery_module.describe()}
    assert {"network", "algorithm", "generator"} <= kinds
    assert [entry["name"] for entry in orrery_module.describe("flow")] == ["flow"]
    assert "hgx-h100" in [cluster["name"] for cluster in orrery_module.clusters()]


def test_progress_and_its_exceptions():
    calls = []
    orrery_module.collective("all_reduce", "hgx-h100", size="1KiB", progress=lambda *call: calls.append(call))
    assert calls[-1][0] == calls[-1][1] > 0

    def fail(done, total):
        raise ZeroDivisionError("enough")

    with pytest.raises(ZeroDivisionError, match="enough"):
        orrery_module.collective("all_reduce", "hgx-h100", size="1KiB", progress=fail)


def test_the_interpreter_lock_is_released():
    """Another thread counts while the core works."""
    stop = threading.Event()
    beats = []

    def count():
        while not stop.is_set():
            beats.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    orrery_module.collective("all_to_all", "gb200-nvl72", size="1KiB..16MiB")
    ended = time.monotonic()
    stop.set()
    thread.join()
    during = [beat for beat in beats if began < beat < ended]
    assert len(during) > (ended - began) / 0.005 * 0.05


def test_keyboard_interrupt_is_honoured(tmp_path):
    script = textwrap.dedent("""
        import orrery, sys
        print("go", flush=True)
        try:
            orrery.collective("all_to_all", "gb200-nvl72", size="1KiB..1GiB", iterations=1000, trace="t.json")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            sys.exit(7)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # A make in the background ignores it.
    )
    assert process.stdout.readline() == "go\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "interrupted\n"
    assert process.wait(timeout=60) == 7
    assert os.listdir(tmp_path) == []


def test_it_works_without_torch():
    script = "import sys; sys.modules['torch'] = None; import orrery; orrery.collective('barrier', 'laptop')"
    subprocess.run([sys.executable, "-c", script], check=True)
