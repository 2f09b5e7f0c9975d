# SPDX-License-Identifier: Apache-2.0
"""compare_reference.py PROGRAM [--cases N] [--seed S]

Goal: the cycles of every rank, folded or not, are those of the reference model. Method: random clusters, algorithms,
sizes, chunks, policies, groups and traces; the files are written and read as a user's would be.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import reference
import traces

OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
POWERS = (2, 4, 8, 16)


def random_algorithm(rng: random.Random, operation: str, size: int, may_tree: bool) -> str:
    """One that can run an `operation` over `size` ranks."""
    names = ["ring", "ring", "direct", f"direct{rng.randint(1, size + 1)}"]
    if size in POWERS and operation != "all_to_all":
        names += ["halvingDoubling"] * 2
    if size in POWERS and may_tree:
        names.append("doubleBinaryTree")
    return rng.choice(names)


def random_algorithms(rng: random.Random, sizes: list[int], in_group: bool) -> dict[str, list[str]]:
    """Per operation, one per dimension; now and then flattened over all."""
    total = 1
    for size in sizes:
        total *= size
    algorithms = {}
    for operation in OPERATIONS:
        if in_group and len(sizes) == 1:
            algorithms[operation] = [rng.choice(["ring", "direct", "direct2", "oneRing"])]
        elif rng.random() < 0.15:
            names = ["oneRing", "oneDirect", "oneDirect2"]
            if total in POWERS and operation != "all_to_all":
                names.append("oneHalvingDoubling")
            algorithms[operation] = [rng.choice(names)]
        else:
            chosen = [random_algorithm(rng, operation, size, not in_group) for size in sizes]
            # A tree is wanted in the last listed dimension only where that is the outermost one.
            algorithms[operation] = chosen
    return algorithms


def random_nodes(rng: random.Random, npus: int, groups: dict[int, list[int]], dims: int) -> list[list[dict]]:
    """The same collectives on all (or on a group's) ranks, with compute and messages around them; or all equal."""
    nodes: list[list[dict]] = [[] for _ in range(npus)]
    equal = not groups and rng.random() < 0.6
    common = not equal and rng.random() < 0.5
    for index in range(rng.choice([1, 1, 2, 3])):
        node = {
            "kind": "collective",
            "operation": rng.choice(OPERATIONS),
            "size": rng.choice([1, 100, 4096, 65536, 100003, 1 << 20, rng.randint(5000, 3 << 20)]),
            "priority": rng.randint(0, 3),
        }
        node["size"] = max(node["size"], 4096)
        if groups and rng.random() < 0.7:
            node["group"] = rng.choice(list(groups))
        elif rng.random() < 0.2 and dims > 1:
            node["dims"] = [rng.random() < 0.6 for _ in range(dims)]
            if not any(node["dims"]):
                node["dims"][rng.randrange(dims)] = True
        micros = rng.randint(0, 30)
        for rank in range(npus):
            if node.get("group") and rank not in groups[node["group"]]:
                continue
            mine = nodes[rank]
            deps = [len(mine)] if mine and rng.random() < 0.5 and common else []
            if rng.random() < 0.4 if common else micros % 2:
                mine.append({"id": len(mine) + 1, "kind": "compute", "micros": micros, "deps": deps})
                deps = [len(mine)] if micros % 3 else deps
            mine.append({**node, "id": len(mine) + 1, "deps": deps})
        if not equal and rng.random() < 0.3:
            source, target = rng.sample(range(npus), 2)
            message = {"tag": rng.randint(0, 3), "size": rng.randint(1, 200000), "deps": []}
            nodes[source].append({**message, "id": len(nodes[source]) + 1, "kind": "send", "peer": target})
            nodes[target].append({**message, "id": len(nodes[target]) + 1, "kind": "receive", "peer": source})
    return nodes


def random_case(rng: random.Random) -> reference.Case:
    """Small enough to be simulated by the reference in a moment."""
    dims = rng.choice([1, 1, 1, 2, 2, 3])
    sizes = [rng.choice([2, 3, 4, 5, 8, 16] if dims == 1 else [2, 3, 4]) for _ in range(dims)]
    aware = dims == 1 and rng.random() < 0.6
    shapes = [rng.choice(["Ring", "FullyConnected", "Switch"]) for _ in range(dims)]
    if aware and sizes[0] == 2 and shapes[0] == "Ring":
        shapes[0] = "Switch"
    npus = 1
    for size in sizes:
        npus *= size
    groups = {}
    if rng.random() < 0.25 and npus > 2:
        for group in range(1, rng.randint(1, 2) + 1):
            groups[group] = rng.sample(range(npus), rng.randint(2, npus))
    queues = rng.choice([1, 1, 1, 2, 3, 4])
    return reference.Case(
        shapes=shapes,
        sizes=sizes,
        bandwidths=[rng.choice([50.0, 400.0, 12.5, 3.7, 100.0]) for _ in range(dims)],
        latencies=[rng.choice([500.0, 936.25, 10.0, 0.0, 73.5, 2000.0]) for _ in range(dims)],
        nodes=random_nodes(rng, npus, groups, dims),
        algorithms=random_algorithms(rng, sizes, bool(groups)),
        splits=rng.choice([1, 2, 4, 4, 7, 16]),
        active=rng.choice([1, 1, 2, 3, 8]),
        queues=queues,
        delay=rng.choice([1, 10, 10, 10, 137]),
        memory=rng.choice([1600.0, 3350.0, 50.0, 7.3]),
        policy=rng.choice(["LIFO", "FIFO", "EXPLICIT"]),
        local_bw_aware=rng.random() < 0.6,
        aware=aware,
        rendezvous=rng.random() < 0.1,
        groups=groups,
    )


def to_node(node: dict) -> traces.Node:
    """A node of the reference as one of a trace."""
    deps = tuple(node.get("deps", ()))
    if node["kind"] == "compute":
        return traces.Node(node["id"], traces.COMPUTE, deps, (), node["micros"], (("is_cpu_op", False),))
    if node["kind"] == "collective":
        more: dict = {"comm_priority": node["priority"]}
        if node.get("group"):
            more["pg_name"] = str(node["group"])
        if node.get("dims"):
            more["involved_dim"] = node["dims"]
        return traces.collective(node["id"], node["operation"], node["size"], data=deps, **more)
    peer = "comm_dst" if node["kind"] == "send" else "comm_src"
    kind = traces.SEND if node["kind"] == "send" else traces.RECEIVE
    pairs = (("is_cpu_op", False), (peer, node["peer"]), ("comm_tag", node["tag"]), ("comm_size", node["size"]))
    return traces.Node(node["id"], kind, deps, (), 0, pairs)


def write_case(case: reference.Case, folder: Path) -> str:
    """The files of a case, and the line that asks for it."""
    folder.mkdir(parents=True)
    for rank, nodes in enumerate(case.nodes):
        traces.write(folder / f"w.{rank}.et", map(to_node, nodes))
    keys = {f"{name.replace('_', '-')}-implementation": list(case.algorithms[name]) for name in OPERATIONS}
    system = {
        "scheduling-policy": case.policy,
        "endpoint-delay": case.delay,
        "active-chunks-per-dimension": case.active,
        "preferred-dataset-splits": case.splits,
        "collective-optimization": "localBWAware" if case.local_bw_aware else "baseline",
        "local-mem-bw": case.memory,
        **keys,
    }
    (folder / "system.json").write_text(json.dumps(system))
    lists = [
        f"{key}: {json.dumps(values)}"
        for key, values in (
            ("topology", case.shapes),
            ("npus_count", case.sizes),
            ("bandwidth", case.bandwidths),
            ("latency", case.latencies),
        )
    ]
    (folder / "network.yml").write_text("\n".join(lists) + "\n")
    line = f"{folder}/w {folder}/system.json {folder}/network.yml queues={case.queues}"
    if case.groups:
        (folder / "groups.json").write_text(json.dumps({str(key): list(value) for key, value in case.groups.items()}))
        line += f" groups={folder}/groups.json"
    return line + " aware" * case.aware + " rendezvous" * case.rendezvous


def main() -> int:
    """Runs the cases; 1 when one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as root:
        cases = [random_case(rng) for _ in range(arguments.cases)]
        lines = [write_case(case, Path(root) / str(i)) for i, case in enumerate(cases)]
        asked = "\n".join(f"{line}\n{line} nofold" for line in lines)
        run = subprocess.run([arguments.program], input=asked, capture_output=True, text=True, check=True)
        answers = run.stdout.splitlines()
    wrong = folded = stuck = 0
    for i, case in enumerate(cases):
        expected = reference.World(case).run()
        for how, answer in zip(("folded", "whole"), answers[2 * i : 2 * i + 2], strict=True):
            if None in expected:
                same = answer.startswith("simulation error: ")
                stuck += 1
            else:
                same = answer.partition(":")[2].split() == [str(cycles) for cycles in expected]
                folded += how == "folded" and answer.startswith("1:")
            if not same:
                wrong += 1
                print(f"case {i} of seed {arguments.seed}, {how}:\n  {case}\n  expected {expected}\n  got {answer}")
    print(f"{len(cases)} cases, {folded} of them folded, {stuck // 2} that never finish, {wrong} differ")
    return 1 if wrong or not folded else 0


if __name__ == "__main__":
    sys.exit(main())
