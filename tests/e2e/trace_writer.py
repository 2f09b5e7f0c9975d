# SPDX-License-Identifier: Apache-2.0
"""Chakra execution traces made by hand, so that the tests do not read what our own writer wrote."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

TYPES = {"mem_load": 2, "mem_store": 3, "comp": 4, "send": 5, "recv": 6, "coll": 7}
COLLECTIVES = {
    name: number
    for number, name in enumerate(
        "all_reduce reduce all_gather gather scatter broadcast all_to_all reduce_scatter".split()
    )
} | {"barrier": 9}


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, payload: "bytes | int") -> bytes:
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload & (2**64 - 1))
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def attribute(name: str, value: "int | bool | str | list[str]") -> bytes:
    if isinstance(value, bool):
        body = field(27, int(value))
    elif isinstance(value, str):
        body = field(29, value.encode())
    elif isinstance(value, list):
        body = field(30, b"".join(field(1, text.encode()) for text in value))
    else:
        body = field(9, value)
    return field(10, field(1, name.encode()) + body)


def node(number: int, kind: str, name: str = "", deps: Iterable[int] = (), micros: int = 0, **attributes: Any) -> bytes:
    """comp(duration in microseconds), coll(comm_type, comm_size, pg_name), send(comm_dst), recv(comm_src)."""
    body = field(1, number) + field(2, (name or kind).encode()) + field(3, TYPES[kind])
    body += b"".join(field(5, dep) for dep in deps)
    if micros:
        body += field(7, micros)
    if "comm_type" in attributes:
        attributes["comm_type"] = COLLECTIVES[attributes["comm_type"]]
    attributes.setdefault("is_cpu_op", False)
    return body + b"".join(attribute(key, value) for key, value in attributes.items())


def write(prefix: Path, ranks: "list[list[bytes]]") -> Path:
    """PREFIX.0.et, PREFIX.1.et, ..."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    for rank, nodes in enumerate(ranks):
        messages = [field(1, b"0.0.4"), *nodes]
        data = b"".join(varint(len(message)) + message for message in messages)
        Path(f"{prefix}.{rank}.et").write_bytes(data)
    return prefix


def training(steps: int = 3, size: int = 1 << 20) -> "list[bytes]":
    """Compute, then an all_reduce of its result, again and again."""
    nodes = []
    for step in range(steps):
        deps = [2 * step] if step else []
        nodes.append(node(2 * step + 1, "comp", f"step {step}", deps, micros=100))
        nodes.append(
            node(2 * step + 2, "coll", "gradients", [2 * step + 1], comm_type="all_reduce", comm_size=size)
        )
    return nodes
