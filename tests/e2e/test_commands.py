# SPDX-License-Identifier: Apache-2.0
"""Every other command: its text, its JSON, its help."""

import json
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

RING = "ring:hosts=5,bandwidth=1Gbps,latency=1us"
COMMANDS = [
    ["run"],
    ["trace", "info"],
    ["trace", "check"],
    ["trace", "json"],
    ["trace", "convert"],
    ["trace", "make"],
    ["collective"],
    ["cluster", "list"],
    ["cluster", "show"],
    ["cluster", "check"],
    ["cluster", "convert"],
    ["describe"],
    ["demo"],
    ["completion"],
]


@pytest.mark.parametrize("command_words", COMMANDS, ids=" ".join)
def test_help_has_examples_and_json(orrery, command_words):
    text = orrery(*command_words, "--help").stdout
    assert "Examples:" in text
    assert "--json" in text
    assert f"orrery {' '.join(command_words)}" in text


def test_cluster_list(orrery):
    assert "hgx-h100" in orrery("cluster", "list").stdout
    data = json.loads(orrery("cluster", "list", "--json").stdout)
    by_name = {cluster["name"]: cluster for cluster in data["clusters"]}
    assert by_name["hgx-h100"]["ranks"] == 8
    assert by_name["hgx-h100"]["description"]
    assert "star" in data["generators"]


def test_every_listed_cluster_checks(orrery):
    for cluster in json.loads(orrery("cluster", "list", "--json").stdout)["clusters"]:
        data = json.loads(orrery("cluster", "check", cluster["name"], "--json").stdout)
        assert (data["nodes"], data["edges"], data["ranks"]) == (cluster["nodes"], cluster["edges"], cluster["ranks"])
        assert data["components"] == 1
        assert data["devices"] and data["links"]
        assert isinstance(data["warnings"], list)


def test_cluster_show_and_picture(orrery, tmp_path):
    text = orrery("cluster", "show", "hgx-h100", "--svg", "c.svg").stdout
    assert "ranks" in text
    assert ET.parse(tmp_path / "c.svg").getroot().tag.endswith("svg")
    data = json.loads(orrery("cluster", "show", "hgx-h100", "--json").stdout)
    assert len(data["nodes"]) == 9 and len(data["edges"]) == 8 and len(data["ranks"]) == 8


def test_a_large_cluster_is_checked_quickly(orrery):
    cluster = "fattree:k=32,bandwidth=100Gbps,latency=1us"
    data = json.loads(orrery("cluster", "check", cluster, "--json", timeout=60).stdout)
    assert data["ranks"] == 8192


@pytest.mark.parametrize("to", ["native", "infragraph"])
@pytest.mark.parametrize("cluster", ["hgx-h100", "jetson-lan", "hgx-h100x4", RING])
def test_conversions_run_alike(orrery, to, cluster, tmp_path):
    orrery("cluster", "convert", cluster, "--to", to, "-o", "copy.yaml")
    # InfraGraph joins parallel cables, of which this cluster has eight between two switches.
    algorithms = "ring" if (to, cluster) == ("infragraph", "hgx-h100x4") else "ring,direct"

    def times(name):
        arguments = ["all_gather", "--cluster", name, "--size", "1MiB", "--algorithm", algorithms, "--json"]
        return [row["time_ps"] for row in json.loads(orrery("collective", *arguments).stdout)["results"]]

    assert times("copy.yaml") == times(cluster)
    assert orrery("cluster", "convert", cluster, "--to", to).stdout == (tmp_path / "copy.yaml").read_text()


def test_describe(orrery):
    text = orrery("describe").stdout
    entries = json.loads(orrery("describe", "--json").stdout)["entries"]
    kinds = {entry["kind"] for entry in entries}
    assert kinds == {"network", "algorithm", "selection", "generator", "cluster", "device", "model", "workload",
                     "operation", "dtype"}
    for entry in entries:
        assert entry["name"] in text
        assert entry["help"], entry
        for field in entry["fields"]:
            assert {"name", "type", "required", "default", "help"} == set(field)
            assert field["help"] and field["type"]
    star = json.loads(orrery("describe", "star", "--json").stdout)["entries"]
    assert [entry["kind"] for entry in star] == ["generator"]
    assert "resolve_delay" in orrery("describe", "flow").stdout


def test_demo(orrery, tmp_path):
    pytest.importorskip("torch")
    text = orrery("demo", timeout=280).stdout
    assert "check: equal to one process" in text
    assert "What to look at next" in text
    made = {str(path.relative_to(tmp_path / "orrery-demo")) for path in (tmp_path / "orrery-demo").rglob("*")}
    for name in ("cluster.svg", "run/timeline.json.gz", "run/result.json"):
        assert name in made and name in text
    data = json.loads(orrery("demo", "--output", "other", "--json").stdout)
    assert len(data["ranks"]) == 4 and data["total_ps"] > 0
    assert (tmp_path / "other" / "cluster.svg").exists()


def complete(orrery, tmp_path, words):
    script = tmp_path / "completion.bash"
    script.write_text(orrery("completion", "bash").stdout)
    program = (
        f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
        '_orrery; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    return done.stdout.split()


def test_bash_completion_knows_the_tree(orrery, tmp_path):
    assert complete(orrery, tmp_path, ["orrery", "col"]) == ["collective"]
    assert complete(orrery, tmp_path, ["orrery", "cluster", "sh"]) == ["show"]
    assert complete(orrery, tmp_path, ["orrery", "collective", "all_red"]) == ["all_reduce"]
    assert complete(orrery, tmp_path, ["orrery", "collective", "all_reduce", "--algo"]) == ["--algorithm"]
    assert "hgx-h100" in complete(orrery, tmp_path, ["orrery", "collective", "all_reduce", "--cluster", "hgx"])
    assert complete(orrery, tmp_path, ["orrery", "cluster", "convert", "x", "--to", "inf"]) == ["infragraph"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_the_script(orrery, shell, tmp_path):
    script = orrery("completion", shell).stdout
    assert "collective" in script and "hgx-h100" in script
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(script)
    subprocess.run([program, "-n", "script"], check=True, cwd=tmp_path)
