#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Expansion of a large InfraGraph file: Orrery against the InfraGraph service, in one run.

    bench/infragraph_expand.py --ours build/bench/bench/bench_infragraph [--json ratios.json]

The file is a fat tree of 32-port switches with three levels and DGX H100 hosts, made by the peer's own
blueprints: 76,032 nodes, 129,024 edges. Both sides read the same YAML text and build the graph. The peer takes
more than a minute; --ports and --levels make a smaller tree.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def write_fat_tree(path, ports, levels):
    from infragraph import Device  # noqa: F401  (a clear error when the package is missing)
    from infragraph.blueprints.devices.generic.generic_switch import Switch
    from infragraph.blueprints.devices.nvidia.dgx import NvidiaDGX
    from infragraph.blueprints.fabrics.clos_fat_tree_fabric import ClosFatTreeFabric

    fabric = ClosFatTreeFabric(Switch(ports), NvidiaDGX("dgx_h100"), levels, [])
    path.write_text(fabric.serialize("yaml"), encoding="utf-8")


def time_peer(path):
    from infragraph.infragraph_service import InfraGraphService

    service = InfraGraphService()
    text = path.read_text(encoding="utf-8")
    begin = time.process_time()
    service.set_graph(text)
    seconds = time.process_time() - begin
    graph = service.get_networkx_graph()
    return {"nodes": graph.number_of_nodes(), "edges": graph.number_of_edges(), "seconds": seconds}


def time_ours(program, path, repeats):
    runs = [json.loads(subprocess.check_output([program, str(path)])) for _ in range(repeats)]
    return min(runs, key=lambda run: run["seconds"])


def append_ratio(path, name, ratio):
    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    table[name] = ratio
    path.write_text(json.dumps(table, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, help="the built bench_infragraph")
    parser.add_argument("--ports", type=int, default=32)
    parser.add_argument("--levels", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5, help="of our side; the fastest counts")
    parser.add_argument("--file", type=pathlib.Path, help="use this InfraGraph file instead of making one")
    parser.add_argument("--json", type=pathlib.Path, help="file of name -> ratio to add to")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file
        if path is None:
            path = pathlib.Path(folder) / "fat_tree.yaml"
            try:
                write_fat_tree(path, arguments.ports, arguments.levels)
            except ImportError as error:
                sys.exit(f"skipped: the peer is not installed ({error})")
        ours = time_ours(arguments.ours, path, arguments.repeats)
        peer = time_peer(path)

    for key in ("nodes", "edges"):
        if ours[key] != peer[key]:
            sys.exit(f"the graphs differ: {key} {ours[key]} (orrery) against {peer[key]} (infragraph)")
    ratio = peer["seconds"] / ours["seconds"]
    print(f"{ours['nodes']} nodes, {ours['edges']} edges, CPU time of reading and expanding one YAML file")
    print(f"  orrery      {ours['seconds']:9.3f} s")
    print(f"  infragraph  {peer['seconds']:9.3f} s")
    print(f"  ratio       {ratio:9.1f}")
    if arguments.json:
        append_ratio(arguments.json, f"infragraph_expand_k{arguments.ports}_l{arguments.levels}", ratio)


if __name__ == "__main__":
    main()
