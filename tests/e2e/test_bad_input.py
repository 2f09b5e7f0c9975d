# SPDX-License-Identifier: Apache-2.0
"""What the command says to mistakes: one clear line, exit code 2, nothing half-written.

Each row is a command line and a part of the message. FILE stands for a file with the given content, OUT for a
place where a result would be written; OUT must not exist afterwards.
"""

import json
import os
import signal
import subprocess
import time

import pytest

STAR = "star:hosts=4,bandwidth=1Gbps,latency=1us"
RUN = ["collective", "all_reduce", "--size", "1KiB", "--cluster"]
CHECK = ["cluster", "check", "FILE"]


def native(**sections):
    return json.dumps({"topology": {"star": {"hosts": 2, "bandwidth": "1Gbps", "latency": "1us"}}, **sections})


def star(**fields):
    return json.dumps({"topology": {"star": {"hosts": 2, "bandwidth": "1Gbps", "latency": "1us", **fields}}})


OPTIONS = {
    "no command": ([], "expected a command"),
    "unknown command": (["colective"], "did you mean 'collective'"),
    "unknown subcommand": (["cluster", "shw"], "did you mean 'show'"),
    "no subcommand": (["cluster"], "expected a command: list, show, check, convert"),
    "unknown option": ([*RUN, STAR, "--algoritm", "ring"], "did you mean '--algorithm'"),
    "unknown top option": (["--verson"], "did you mean '--version'"),
    "option without value": ([*RUN, STAR, "--ranks"], "--ranks"),
    "option twice": ([*RUN, STAR, "--size", "2KiB"], "--size"),
    "unexpected argument": ([*RUN, STAR, "more"], "unexpected argument"),
    "no operation": (["collective", "--cluster", STAR], "expected an operation"),
    "unknown operation": (["collective", "alreduce", "--cluster", STAR], "did you mean 'all_reduce'"),
    "no cluster": (["collective", "all_reduce"], "--cluster: expected a file, a preset or a generator"),
    "unknown preset": ([*RUN, "hgx-h10"], "did you mean 'hgx-h100'"),
    "unknown generator": ([*RUN, "sar:hosts=4"], "did you mean 'star'"),
    "missing file": ([*RUN, "no/such/file.yaml"], "file not found"),
    "cluster is a folder": ([*RUN, "/"], "cannot read"),
    "generator without field": ([*RUN, "star:hosts=4"], "required key 'bandwidth' is missing"),
    "generator, unknown field": ([*RUN, STAR + ",latncy=1us"], "did you mean 'latency'"),
    "generator, bandwidth without unit": ([*RUN, "star:hosts=4,bandwidth=100,latency=1us"], "bandwidth"),
    "generator, wrong unit": ([*RUN, "star:hosts=4,bandwidth=1us,latency=1us"], "expected a bandwidth"),
    "generator, negative latency": ([*RUN, "star:hosts=4,bandwidth=1Gbps,latency=-1us"], "expected a duration"),
    "generator, zero bandwidth": ([*RUN, "star:hosts=4,bandwidth=0Gbps,latency=1us"], "bandwidth"),
    "generator, huge count": ([*RUN, "star:hosts=99999999999,bandwidth=1Gbps,latency=1us"], "hosts"),
    "generator, half a host": ([*RUN, "star:hosts=2.5,bandwidth=1Gbps,latency=1us"], "expected a whole number"),
    "generator, no equals": ([*RUN, "star:hosts"], "key=value"),
    "ranks not a number": ([*RUN, STAR, "--ranks", "four"], "--ranks: 'four': expected a whole number"),
    "ranks negative": ([*RUN, STAR, "--ranks", "-1"], "expected 1 to 4"),
    "ranks zero": ([*RUN, STAR, "--ranks", "0"], "expected 1 to 4"),
    "too many ranks": ([*RUN, STAR, "--ranks", "5"], "has 4 ranks"),
    "ranks overflow": ([*RUN, STAR, "--ranks", "99999999999999999999"], "expected a whole number"),
    "group out of range": ([*RUN, STAR, "--group", "0,9"], "ranks 0 to 3"),
    "group with a word": ([*RUN, STAR, "--group", "0,x"], "expected ranks such as"),
    "group repeats": ([*RUN, STAR, "--group", "0-2,1"], "rank 1 stands twice"),
    "group and ranks": ([*RUN, STAR, "--group", "0-1", "--ranks", "2"], "not together with --ranks"),
    "size without unit": (["collective", "all_reduce", "--cluster", STAR, "--size", "1024"], "with its unit"),
    "size negative": (["collective", "all_reduce", "--cluster", STAR, "--size", "-1KiB"], "with its unit"),
    "size range backwards": (["collective", "all_reduce", "--cluster", STAR, "--size", "2KiB..1KiB"], "ends before"),
    "size range bad step": (["collective", "all_reduce", "--cluster", STAR, "--size", "1B..1KiB:y2"], "such as ':x2'"),
    "size range that stands still": (
        ["collective", "all_reduce", "--cluster", STAR, "--size", "1B..1KiB:x1"],
        "factor above 1",
    ),
    "size huge": (["collective", "all_reduce", "--cluster", STAR, "--size", "99999999TiB"], "--size"),
    "too many sizes": (["collective", "all_reduce", "--cluster", STAR, "--size", "1B..1GiB:+1B"], "more than 1000"),
    "unknown algorithm": ([*RUN, STAR, "--algorithm", "rign"], "did you mean 'ring'"),
    "algorithm not for this": ([*RUN, STAR, "--algorithm", "bruck"], "bruck"),
    "nccl without platform": ([*RUN, STAR, "--algorithm", "nccl"], "nccl"),
    "unknown network": ([*RUN, STAR, "--network", "flwo"], "did you mean 'flow'"),
    "network setting unknown": ([*RUN, STAR, "--network", "flow:resolve_dely=1us"], "did you mean 'resolve_delay'"),
    "network setting without unit": ([*RUN, STAR, "--network", "flow:resolve_delay=1"], "expected a duration"),
    "network file missing": ([*RUN, STAR, "--network", "missing.yaml"], "cannot read"),
    "unknown dtype": ([*RUN, STAR, "--dtype", "flaot32"], "did you mean 'float32'"),
    "root out of range": ([*RUN, STAR, "--root", "4"], "--root: '4'"),
    "skew without unit": ([*RUN, STAR, "--skew", "1"], "--skew: '1'"),
    "skew too long": ([*RUN, STAR, "--skew", "2h"], "at most an hour"),
    "iterations zero": ([*RUN, STAR, "--iterations", "0"], "--iterations: '0'"),
    "iterations huge": ([*RUN, STAR, "--iterations", "999999999"], "--iterations"),
    "workers negative": ([*RUN, STAR, "--workers", "-2"], "--workers: '-2'"),
    "seed negative": ([*RUN, STAR, "--seed", "-1"], "--seed"),
    "trace of unknown kind": ([*RUN, STAR, "--trace", "x.txt"], ".json.gz"),
    "describe unknown": (["describe", "flwo"], "did you mean 'flow'"),
    "convert to unknown": (["cluster", "convert", "hgx-h100", "--to", "natve"], "did you mean 'native'"),
    "convert to nothing": (["cluster", "convert", "hgx-h100"], "expected one of: infragraph, native"),
    "completion of unknown shell": (["completion", "tcsh"], "bash, zsh, fish"),
    "show nothing": (["cluster", "show"], "expected a cluster"),
}

FILES = {
    "empty": (b"", "the file is empty"),
    "only a comment": (b"# nothing\n", "FILE"),
    "truncated YAML": (b"topology: {star: {hosts: 2,", "malformed YAML"),
    "truncated JSON": (native().encode()[:-10], "malformed YAML"),
    "JSON garbage": (b'{"a": [1, 2}', "malformed YAML"),
    "binary": (bytes(range(256)) * 8, "FILE"),
    "NUL bytes": (b"name: \x00\x00\n", "FILE"),
    "UTF-16": ("nodes: {}\n".encode("utf-16-le"), "FILE"),
    "a list": (b"- 1\n- 2\n", "expected a mapping"),
    "a word": (b"cluster\n", "expected a mapping"),
    "two documents": (b"a: 1\n---\nb: 2\n", "more than one YAML document"),
    "key twice": (b"name: a\nname: b\n", "appears twice"),
    "unknown key": (native(linkz=1).encode(), "did you mean 'links'"),
    "no nodes": (b"name: x\n", "needs `nodes`"),
    "deep": (b"name: " + b"[" * 5000 + b"]" * 5000, "nested deeper"),
    "bomb": (
        b"a: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + b"".join(b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 10)) for i in range(12)),
        "more than",
    ),
    "unit missing": (star(latency="5").encode(), "expected a duration"),
    "number for a bandwidth": (star(bandwidth=100).encode(), "bandwidth"),
    "wrong unit": (star(bandwidth="5us").encode(), "expected a bandwidth"),
    "zero bandwidth": (star(bandwidth="0Gbps").encode(), "bandwidth"),
    "negative hosts": (star(hosts=-3).encode(), "hosts"),
    "hosts in quotes": (star(hosts="8").encode(), "hosts"),
    "infinite": (star(hosts=1e400).encode().replace(b"Infinity", b"1e400"), "hosts"),
    "huge number": (star(hosts=10**30).encode(), "hosts"),
    "too many nodes": (star(hosts=10**9).encode(), "hosts"),
    "two generators": (b'{"topology": {"star": {}, "ring": {}}}', "expected one generator"),
    "template contains itself": (
        b"templates: {t: {nodes: {x: {template: t}}}}\nnodes: {a: {template: t}}\n",
        "does a template contain itself",
    ),
    "devices in a circle": (b"devices: {a: {base: b}, b: {base: a}}\nnodes: {x: {device: a}}\n", "circle"),
    "unknown device": (b"nodes: {x: {device: h100_sxn}}\n", "h100_sxm"),
    "link to nowhere": (
        native(links={"host[0] - swich": {"bandwidth": "1Gbps", "latency": "1us"}}).encode(),
        "did you mean 'switch'",
    ),
    "index out of range": (
        native(links={"host[7] - switch": {"bandwidth": "1Gbps", "latency": "1us"}}).encode(),
        "does not exist",
    ),
    "event of no kind": (native(events=[{"at": "1us", "link": "host[0] - switch"}]).encode(), "expected a change"),
    "unreachable ranks": (
        b"nodes: {a: {count: 2}, b: {count: 2}}\n"
        b"links:\n"
        b"  a: {shape: full, bandwidth: 1Gbps, latency: 1us}\n"
        b"  b: {shape: full, bandwidth: 1Gbps, latency: 1us}\n",
        "rank 0 (a[0]) cannot reach rank 2 (b[0])",
    ),
}


def check_error(result, part):
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("orrery: error: "), result.stderr
    assert part in lines[0], f"{part!r} is not in: {lines[0]}"
    assert "Traceback" not in result.stderr
    assert len(lines[0]) < 700
    assert result.stdout == ""


@pytest.mark.parametrize("case", OPTIONS)
def test_options(orrery, case, tmp_path):
    arguments, part = OPTIONS[case]
    check_error(orrery(*arguments, code=2), part)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("case", FILES)
def test_cluster_files(orrery, case, tmp_path):
    content, part = FILES[case]
    path = tmp_path / "FILE.yaml"
    path.write_bytes(content)
    check_error(orrery("cluster", "check", path.name, code=2), part)
    assert list(tmp_path.iterdir()) == [path]


def test_unreachable_ranks_in_a_run_name_both_ends(orrery, tmp_path):
    (tmp_path / "c.yaml").write_bytes(FILES["unreachable ranks"][0])
    result = orrery("collective", "all_reduce", "--cluster", "c.yaml", "--size", "1KiB", "--algorithm", "ring", code=2)
    check_error(result, "b[0]")
    assert "a[" in result.stderr


OUTPUTS = {
    "--trace": [*RUN, "hgx-h100", "--quiet", "--trace"],
    "--csv": [*RUN, "hgx-h100", "--quiet", "--csv"],
    "--output": [*RUN, "hgx-h100", "--quiet", "--output"],
    "--svg": ["cluster", "show", "hgx-h100", "--svg"],
    "-o": ["cluster", "convert", "hgx-h100", "--to", "native", "-o"],
}


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("place", ["missing-folder/x.json", ".", "/proc/x.json", "file/x.json"])
def test_outputs_that_cannot_be_written(orrery, option, place, tmp_path):
    (tmp_path / "file").write_text("a file, not a folder")
    if place == "." and option == "--trace":
        place = "folder.json"
        (tmp_path / place).mkdir()
    before = sorted(tmp_path.iterdir())
    check_error(orrery(*OUTPUTS[option], place, code=2), "cannot write")
    assert sorted(tmp_path.iterdir()) == before


def test_a_full_device_is_an_error_and_leaves_nothing(orrery, command):
    check_error(orrery(*RUN, "hgx-h100", "--csv", "/dev/full", code=2), "/dev/full")
    assert not [name for name in os.listdir("/dev") if name.startswith("full.")]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [str(command), *RUN, "hgx-h100", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith("orrery: error: standard output: cannot write")


def test_a_disk_that_fills_up_leaves_no_partial_file(command, tmp_path):
    """A limit on the size of files stands for the full disk: the same write fails half-way."""
    script = f"ulimit -f 1; exec {command} {' '.join(RUN)} hgx-h100x4 --quiet --output out.json"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done
    assert done.stderr.startswith("orrery: error: out.json: cannot write")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_error(command, tmp_path):
    script = f"{command} describe | head -n 1"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_interrupt_exits_130_and_writes_nothing(command, tmp_path):
    arguments = ["collective", "all_to_all", "--cluster", "gb200-nvl72", "--size", "1KiB..1GiB", "--iterations", "500"]
    outputs = ["--trace", "t.json", "--csv", "c.csv", "--output", "o.json"]
    process = subprocess.Popen(
        [str(command), *arguments, *outputs], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert "Traceback" not in stderr
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_stays_down_is_exit_3_and_says_who_waits(orrery, tmp_path):
    (tmp_path / "c.yaml").write_text(native(events=[{"at": "1us", "link": "host[0] - switch", "state": "down"}]))
    result = orrery("collective", "all_reduce", "--cluster", "c.yaml", "--size", "1MiB", "--algorithm", "ring", code=3)
    assert result.stdout == ""
    assert "rank 0" in result.stderr
    assert "down" in result.stderr or "receive" in result.stderr
