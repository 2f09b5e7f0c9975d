# SPDX-License-Identifier: Apache-2.0
"""ASTRA-sim's timing rules once more, as plainly as they can be said: slow, small, and independent of the C++.

A heap of (time, number of insertion) drives everything; reference_algorithms.py has the collectives.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from reference_network import Calendar, Clock, Network


@dataclass
class Case:
    """What is simulated. Nodes are dicts: id, kind, deps, and what the kind needs."""

    shapes: list[str]
    sizes: list[int]
    bandwidths: list[float]
    latencies: list[float]
    nodes: list[list[dict]]
    algorithms: dict[str, list[str]]
    splits: int = 4
    active: int = 1
    queues: int = 1
    delay: int = 10
    memory: float = 1600.0
    policy: str = "LIFO"
    local_bw_aware: bool = True
    aware: bool = False
    rendezvous: bool = False
    groups: dict[int, list[int]] = field(default_factory=dict)

    @property
    def npus(self) -> int:
        """Ranks."""
        return math.prod(self.sizes)


@dataclass
class Circle:
    """Ranks a phase runs over, and where one of them stands."""

    members: list[int]
    index: int
    small_group: bool

    def peer(self, distance: int) -> int:
        """Counted forward."""
        return self.members[(self.index + distance) % len(self.members)]


@dataclass
class Phase:
    """One dimension of one chunk."""

    operation: str
    algorithm: str
    circle: Circle
    size: int
    queue: int
    backward: bool
    second_tree: bool = False


@dataclass(eq=False)
class Chunk:
    """A part of a collective on one rank."""

    tag: int
    priority: int
    phases: list[Phase]
    done: Callable[[], None]
    phase: Phase | None = None
    started: bool = False


class Rank:
    """One NPU: its trace, its queues, its chunks."""

    def __init__(self, number: int, world: "World") -> None:
        self.number, self.world, self.case = number, world, world.case
        self.calendar = Calendar(world.clock)
        self.nodes = {node["id"]: node for node in self.case.nodes[number]}
        self.left = {i: set(node.get("deps", ())) for i, node in self.nodes.items()}
        self.ongoing: set[int] = set()
        self.used: set[str] = set()
        self.finish: int | None = None
        self.compute = 0
        self.chunks = 0
        self.group_chunks: dict[int, int] = {}
        self.collectives = 0
        self.trees: dict[tuple, int] = defaultdict(int)
        self.queues: dict[int, list[Chunk]] = defaultdict(list)
        self.turn: dict[tuple, int] = {}

    # The workload.

    def resource(self, node: dict) -> str | None:
        """What a node occupies; receives nothing."""
        return {"compute": "compute", "receive": None}.get(node["kind"], "communication")

    def issue(self) -> None:
        """All that is ready, by id, as far as resources go."""
        for i in sorted(i for i, left in self.left.items() if not left):
            what = self.resource(self.nodes[i])
            if what in self.used:
                continue
            del self.left[i]
            self.ongoing.add(i)
            if what:
                self.used.add(what)
            self.start(self.nodes[i])
        if not self.left and not self.ongoing and self.finish is None:
            self.finish = self.world.clock.now

    def complete(self, node: dict) -> None:
        """Its resource is free, its children may start."""
        self.ongoing.remove(node["id"])
        self.used.discard(self.resource(node) or "")
        for left in self.left.values():
            left.discard(node["id"])
        self.issue()

    def start(self, node: dict) -> None:
        """One node."""
        done = lambda: self.complete(node)  # noqa: E731
        if node["kind"] == "compute":
            duration = max(1, node["micros"] * 1000)
            self.compute += duration
            self.calendar.plan(duration, done)
        elif node["kind"] == "send":
            self.send(node["peer"], node["tag"], node["size"], done)
        elif node["kind"] == "receive":
            self.receive(node["peer"], node["tag"], node["size"], done)
        else:
            self.start_collective(node, done)

    def send(self, peer: int, tag: int, size: int, done: Callable[[], None] | None = None) -> None:
        """With a handshake of 8192 bytes when asked for."""
        key = (tag, self.number, peer, size)
        if self.case.rendezvous:
            word = (tag + 10**9, peer, self.number, 8192)
            self.world.network.receive(word, lambda: self.world.network.send(key, done))
        else:
            self.world.network.send(key, done)

    def receive(self, peer: int, tag: int, size: int, done: Callable[[], None]) -> None:
        """The other side of send."""
        key = (tag, peer, self.number, size)
        if self.case.rendezvous:
            word = (tag + 10**9, self.number, peer, 8192)
            self.world.network.send(word, lambda: self.world.network.receive(key, done))
        else:
            self.world.network.receive(key, done)

    # Collectives.

    def start_collective(self, node: dict, done: Callable[[], None]) -> None:
        """Chunks, all of the same size, in order."""
        size, splits = node["size"], self.case.splits
        part = size // splits
        if node["operation"] != "all_gather" and part < self.case.npus:
            part = self.case.npus
            size = splits * part
        count = -(-size // part)
        priority = {"LIFO": self.collectives, "FIFO": -self.collectives}.get(self.case.policy, node.get("priority", 0))
        self.collectives += 1
        left = [count]

        def finished() -> None:
            left[0] -= 1
            if not left[0]:
                done()

        for _ in range(count):
            phases = list(self.phases(node, part))
            tag = self.chunks
            self.chunks += 1  # Also for a chunk of a group, which has a number of its own.
            if node.get("group"):
                tag = self.group_chunks.setdefault(node["group"], 0) + node["group"] * 10**6
                self.group_chunks[node["group"]] += 1
            self.next_phase(Chunk(tag % (5 * 10**8) + 5 * 10**8, priority, phases, finished))

    def circles(self, node: dict) -> list[tuple[str, Circle]]:
        """Algorithm and circle per dimension."""
        algorithms = self.case.algorithms[node["operation"]]
        members = self.case.groups.get(node.get("group", 0))
        if members and len(members) < self.case.npus:
            name = "ring" if len(algorithms) > 1 else algorithms[0]
            return [(plain(name), Circle(members, members.index(self.number), True))]
        out, stride = [], 1
        for name, size in zip(algorithms, self.case.sizes, strict=False):
            if name.startswith("one"):
                out.append((plain(name), Circle(list(range(self.case.npus)), self.number, False)))
                break
            index = self.number // stride % size
            first = self.number - index * stride
            out.append((name, Circle([first + k * stride for k in range(size)], index, False)))
            stride *= size
        return out

    def queue(self, dim: int, how: str) -> tuple[int, bool]:
        """The next queue of a dimension, and whether it runs backward."""
        count = self.case.queues
        half = count // 2
        bounds = {"any": (0, count), "up": (0, max(half, 1)), "down": (half, count)}[how]
        turn = self.turn.get((dim, how), bounds[0])
        self.turn[dim, how] = turn + 1 if turn + 1 < bounds[1] else bounds[0]
        backward = how == "down" or (how == "any" and count > 1 and turn >= half)
        return dim * count + turn, backward

    def phases(self, node: dict, size: int) -> Iterator[Phase]:
        """The way of one chunk through the dimensions."""
        circles = self.circles(node)
        involved = node.get("dims") if not node.get("group") else None
        dims = [d for d, (_, circle) in enumerate(circles) if len(circle.members) > 1 and (not involved or involved[d])]
        operation = node["operation"]
        if not dims:
            return
        if operation == "all_reduce" and self.case.local_bw_aware:
            plan = [("reduce_scatter", d, "up") for d in dims[:-1]] + [("all_reduce", dims[-1], "up")]
            plan += [("all_gather", d, "down") for d in reversed(dims[:-1])]
        else:
            order = reversed(dims) if operation == "all_gather" else dims
            plan = [(operation, d, "any") for d in order]
        for part, d, how in plan:
            name, circle = circles[d]
            queue, backward = self.queue(d, how)
            second = False
            if name == "doubleBinaryTree":
                second = self.trees[operation, d] % 2 == 1
                self.trees[operation, d] += 1
            yield Phase(part, name, circle, size, queue, backward, second)
            if name != "doubleBinaryTree":
                members = len(circle.members)
                size = {"reduce_scatter": size // members, "all_gather": size * members}.get(part, size)

    def next_phase(self, chunk: Chunk) -> None:
        """Tell, leave, join, start in the old queue, start in the new."""
        old = chunk.phase
        if old and not chunk.phases:
            chunk.done()
        if old:
            self.queues[old.queue].remove(chunk)
        if chunk.phases:
            chunk.phase, chunk.started = chunk.phases.pop(0), False
            queue = self.queues[chunk.phase.queue]
            behind = [i for i, other in enumerate(queue) if other.started or other.priority >= chunk.priority]
            queue.insert(behind[-1] + 1 if behind else 0, chunk)
            if old:
                self.start_waiting(old.queue)
            self.start_waiting(chunk.phase.queue)
        elif old:
            self.start_waiting(old.queue)

    def start_waiting(self, number: int) -> None:
        """As many as may run at once."""
        limit = math.ceil(self.case.active / self.case.queues)
        for chunk in list(self.queues[number]):
            if sum(other.started for other in self.queues[number]) >= limit:
                return
            if not chunk.started:
                chunk.started = True
                self.world.scripts[chunk.phase.algorithm.rstrip("0123456789")](self, chunk)


def plain(name: str) -> str:
    """oneRing is a ring."""
    return name[3].lower() + name[4:] if name.startswith("one") else name


class World:
    """All ranks on one network."""

    def __init__(self, case: Case) -> None:
        from reference_algorithms import SCRIPTS

        self.case, self.scripts = case, SCRIPTS
        self.clock = Clock()
        self.network = Network(case, self.clock)
        self.ranks = [Rank(i, self) for i in range(case.npus)]

    def run(self) -> list[int | None]:
        """The cycle at which each rank finished; None when it did not."""
        for rank in self.ranks:
            rank.issue()
        self.clock.run()
        return [rank.finish for rank in self.ranks]
