# SPDX-License-Identifier: Apache-2.0
"""Clock, calendars and both networks of the reference model."""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any


class Clock:
    """Events in the order of time, then of insertion."""

    def __init__(self) -> None:
        self.now = 0
        self.heap: list[tuple[int, int, Callable[[], None]]] = []
        self.count = 0

    def at(self, delay: int, action: Callable[[], None]) -> None:
        """`action` after `delay`."""
        heapq.heappush(self.heap, (self.now + delay, self.count, action))
        self.count += 1

    def run(self) -> None:
        """Until nothing is left."""
        while self.heap:
            self.now, _, action = heapq.heappop(self.heap)
            action()


class Calendar:
    """All that a rank plans for one instant runs together, where the first of it was planned."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.plans: dict[int, list[Callable[[], None]]] = {}

    def plan(self, delay: int, action: Callable[[], None]) -> None:
        """`action` after `delay`."""
        time = self.clock.now + delay
        if time in self.plans:
            self.plans[time].append(action)
            return
        self.plans[time] = [action]
        self.clock.at(delay, lambda: self.run(time))

    def run(self, time: int) -> None:
        """What was planned, and what is planned for the same instant meanwhile."""
        index = 0
        while index < len(self.plans[time]):
            self.plans[time][index]()
            index += 1
        del self.plans[time]


class Network:
    """Both networks, and the pairing of sends with receives."""

    def __init__(self, case: Any, clock: Clock) -> None:
        self.case, self.clock = case, clock
        self.posted: dict[tuple, deque] = defaultdict(deque)
        self.arrived: dict[tuple, int] = defaultdict(int)
        self.busy: set[tuple] = set()
        self.waiting: dict[tuple, deque] = defaultdict(deque)

    def place(self, rank: int) -> list[int]:
        """Its coordinate in each dimension."""
        out = []
        for size in self.case.sizes:
            out.append(rank % size)
            rank //= size
        return out

    def rate(self, dim: int) -> float:
        """Bytes per nanosecond."""
        return self.case.bandwidths[dim] * 2**30 / 1e9

    def way(self, source: int, target: int) -> list:
        """Devices of the only dimension, from source to target."""
        shape, size = self.case.shapes[0], self.case.sizes[0]
        if shape == "FullyConnected":
            return [source, target]
        if shape == "Switch":
            return [source, "switch", target]
        up = (target - source) % size
        step = 1 if up <= size - up else -1
        out = [source]
        while out[-1] != target:
            out.append((out[-1] + step) % size)
        return out

    def send(self, key: tuple, sent: Callable[[], None] | None) -> None:
        """`key` is (tag, source, target, size)."""
        if self.case.aware:
            self.enter(self.way(key[1], key[2]), key, sent)
            return
        source, target = self.place(key[1]), self.place(key[2])
        dim = next(d for d in range(len(source)) if source[d] != target[d])
        size = self.case.sizes[dim]
        up = (target[dim] - source[dim]) % size
        hops = {"FullyConnected": 1, "Switch": 2, "Ring": min(up, size - up)}[self.case.shapes[dim]]
        flight = int(hops * self.case.latencies[dim] + key[3] / self.rate(dim))
        self.clock.at(flight, lambda: self.arrive(key, sent))

    def enter(self, way: list, key: tuple, sent: Callable[[], None] | None) -> None:
        """The message asks for the first link of `way`."""
        if len(way) == 1:
            self.arrive(key, sent)
            return
        link = (way[0], way[1])
        if link in self.busy:
            self.waiting[link].append((way, key, sent))
        else:
            self.transmit(link, way, key, sent)

    def transmit(self, link: tuple, way: list, key: tuple, sent: Callable[[], None] | None) -> None:
        """The link is taken for the time of serialisation."""
        self.busy.add(link)
        taken = key[3] / self.rate(0)
        self.clock.at(int(self.case.latencies[0] + taken), lambda: self.enter(way[1:], key, sent))
        self.clock.at(int(taken), lambda: self.release(link))

    def release(self, link: tuple) -> None:
        """First come, first served."""
        self.busy.remove(link)
        if self.waiting[link]:
            self.transmit(link, *self.waiting[link].popleft())

    def arrive(self, key: tuple, sent: Callable[[], None] | None) -> None:
        """The sender hears of it first."""
        ready = bool(self.posted[key])
        if sent:
            sent()
        if ready:
            self.posted[key].popleft()()
        else:
            self.arrived[key] += 1

    def receive(self, key: tuple, done: Callable[[], None]) -> None:
        """At once, within the instant, when the message is there."""
        if self.arrived[key]:
            self.arrived[key] -= 1
            self.clock.at(0, done)
        else:
            self.posted[key].append(done)
