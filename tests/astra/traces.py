# SPDX-License-Identifier: Apache-2.0
"""Writes small Chakra traces, byte by byte: no library stands between a test and the file it means."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

INVALID, METADATA, LOAD, STORE, COMPUTE, SEND, RECEIVE, COLLECTIVE = range(8)
ALL_REDUCE, REDUCE, ALL_GATHER, GATHER, SCATTER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER = range(8)
OPERATIONS = {
    "all_reduce": ALL_REDUCE,
    "all_gather": ALL_GATHER,
    "all_to_all": ALL_TO_ALL,
    "reduce_scatter": REDUCE_SCATTER,
}


class Node(NamedTuple):
    """One node; `attributes` are integers, truth values, text or lists of truth values."""

    id: int
    kind: int
    data: tuple[int, ...] = ()
    control: tuple[int, ...] = ()
    micros: int = 0
    attributes: tuple[tuple[str, int | bool | str | list[bool]], ...] = ()


def varint(value: int) -> bytes:
    """Little groups of seven bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, payload: bytes) -> bytes:
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def attribute(name: str, value: int | bool | str | list[bool]) -> bytes:
    """An AttributeProto."""
    body = field(1, name.encode())
    if isinstance(value, bool):
        body += varint(27 << 3) + varint(value)
    elif isinstance(value, int):
        body += varint(9 << 3) + varint(value)
    elif isinstance(value, str):
        body += field(29, value.encode())
    else:
        body += field(28, field(1, bytes(value)))
    return field(10, body)


def encode(node: Node) -> bytes:
    """A Node message."""
    body = varint(1 << 3) + varint(node.id) + field(2, b"node%d" % node.id) + varint(3 << 3) + varint(node.kind)
    if node.control:
        body += field(4, b"".join(map(varint, node.control)))
    if node.data:
        body += field(5, b"".join(map(varint, node.data)))
    if node.micros:
        body += varint(7 << 3) + varint(node.micros)
    return body + b"".join(attribute(*pair) for pair in node.attributes)


def write(path: Path, nodes: Iterable[Node]) -> None:
    """One rank's file."""
    head = field(1, b"0.0.4")
    messages = [head, *map(encode, nodes)]
    path.write_bytes(b"".join(varint(len(message)) + message for message in messages))


def collective(node_id: int, operation: str, size: int, **more: int | str | list[bool]) -> Node:
    """A collective node; `more` are further attributes, `data` its dependencies."""
    data = tuple(more.pop("data", ()))
    pairs = (("is_cpu_op", False), ("comm_type", OPERATIONS[operation]), ("comm_size", size), *more.items())
    return Node(node_id, COLLECTIVE, data, (), 0, pairs)
