# SPDX-License-Identifier: Apache-2.0
"""The algorithms of the reference model, each started for one chunk on one rank."""

import math


class Packet:
    """Crossing the endpoint, and reduction."""

    @staticmethod
    def cross(rank, chunk, reduced_bytes, then):
        """`then` after the endpoint delay and, when bytes are given, after their reduction."""
        in_group = chunk.phase.circle.small_group and chunk.phase.algorithm != "doubleBinaryTree"
        delay = 10 if in_group else rank.case.delay

        def crossed():
            if reduced_bytes is None:
                then()
                return
            bandwidth = rank.case.memory * 1e9
            rank.calendar.plan(3 * int(reduced_bytes / bandwidth * 1e9) if bandwidth else 0, then)

        rank.calendar.plan(delay, crossed)


def ring(rank, chunk):
    """Send to the next, receive from the one before; so many times."""
    phase = chunk.phase
    n = len(phase.circle.members)
    message = phase.size if phase.operation == "all_gather" else phase.size // n
    steps = {"all_reduce": 2 * (n - 1), "all_to_all": n * (n - 1) // 2}.get(phase.operation, n - 1)
    reduced = n - 1 if phase.operation in ("all_reduce", "reduce_scatter") else 0
    way = -1 if phase.backward else 1
    state = {"sent": 0, "received": 0}

    def go_on():
        if state["sent"] == steps:
            rank.next_phase(chunk)
            return
        state["sent"] += 1
        rank.send(phase.circle.peer(way), chunk.tag, message)
        rank.receive(phase.circle.peer(-way), chunk.tag, message, received)

    def received():
        state["received"] += 1
        Packet.cross(rank, chunk, message if state["received"] <= reduced else None, go_on)

    Packet.cross(rank, chunk, None, go_on)


def direct(rank, chunk):
    """All peers at once, or a window of them. Receives are reduced in runs that belong to the window."""
    phase = chunk.phase
    n = len(phase.circle.members)
    digits = phase.algorithm.lstrip("abcdefghijklmnopqrstuvwxyz")
    window = min(int(digits), n - 1) if digits else n - 1
    message = phase.size if phase.operation == "all_gather" else phase.size // n
    total = 2 * (n - 1) if phase.operation == "all_reduce" else n - 1
    way = -1 if phase.backward else 1
    run = window + ((n - 1) * window if phase.circle.small_group else window)
    state = {"free": 0, "sent": 0, "received": 0}

    def is_reduced(receive):
        """The `receive`-th: the first `window` places of each run are not; all-reduce skips every other run."""
        place = receive + window
        if place % run < window:
            return False
        even = place // run % 2 == 0
        return phase.operation == "reduce_scatter" or (phase.operation == "all_reduce" and even)

    def send_one():
        have = window + state["received"] - state["sent"]
        if not (have and state["free"] and state["sent"] < total):
            return
        distance = way * (state["sent"] % (n - 1) + 1)
        state["free"] -= 1
        state["sent"] += 1
        rank.send(phase.circle.peer(distance), chunk.tag, message)
        rank.receive(phase.circle.peer(-distance), chunk.tag, message, received)

    def ready():
        state["free"] += 1
        if phase.operation == "all_reduce" and state["sent"] >= n - 1:
            if state["received"] < n - 1:
                return
            for _ in range(window):
                send_one()
        else:
            send_one()
        if state["sent"] == total and state["free"] == window:
            rank.next_phase(chunk)

    def received():
        reduced = is_reduced(state["received"])
        state["received"] += 1
        Packet.cross(rank, chunk, message if reduced else None, ready)

    for _ in range(window):
        Packet.cross(rank, chunk, None, ready)


def halving_doubling(rank, chunk):
    """Partners by bits of the place; sizes halve, then double. What halving cut off stays off."""
    phase = chunk.phase
    n = len(phase.circle.members)
    rounds = int(math.log2(n))
    distances = [2**k for k in range(rounds)]
    halves = [phase.size // 2 ** (k + 1) for k in range(rounds)]
    back = [phase.size // 2 ** (rounds + 1) * 2 ** (k + 1) for k in range(rounds)]
    steps = {
        "reduce_scatter": list(zip(distances, halves, strict=True)),
        "all_gather": [(d, phase.size * 2**k) for k, d in enumerate(reversed(distances))],
        "all_reduce": list(zip(distances, halves, strict=True)) + list(zip(reversed(distances), back, strict=True)),
    }[phase.operation]
    state = {"done": 0}

    def exchange():
        if state["done"] == len(steps):
            rank.next_phase(chunk)
            return
        distance, size = steps[state["done"]]
        state["done"] += 1
        partner = phase.circle.peer(distance if phase.circle.index // distance % 2 == 0 else -distance)
        rank.send(partner, chunk.tag, size)
        rank.receive(partner, chunk.tag, size, received)

    def received():
        reduces = phase.operation != "all_gather" and state["done"] < rounds
        Packet.cross(rank, chunk, steps[state["done"]][1] if reduces else None, exchange)

    Packet.cross(rank, chunk, None, exchange)


def tree_of(n, second):
    """{place: (parent, children)} of one of the two trees."""
    places = list(range(1, n)) if second else list(range(n - 1))
    root = 0 if second else n - 1
    family = {}

    def build(low, high, parent):
        middle = (low + high) // 2
        family[places[middle]] = (parent, [])
        if parent is not None:
            family[parent][1].append(places[middle])
        if high > low:
            build(low, middle - 1, places[middle])
            build(middle + 1, high, places[middle])

    family[root] = (None, [])
    build(0, n - 2, root)
    return family


def double_binary_tree(rank, chunk):
    """The whole chunk up and down."""
    phase = chunk.phase
    members = phase.circle.members
    parent, children = tree_of(len(members), phase.second_tree)[phase.circle.index]
    size = phase.size
    state = {"children": 0}

    def send(place):
        rank.send(members[place], chunk.tag, size)

    def receive(place, then):
        rank.receive(members[place], chunk.tag, size, then)

    def up():
        state["children"] += 1
        if state["children"] < len(children):
            return
        if parent is None:
            down()
            return
        send(parent)
        receive(parent, from_parent)

    def from_parent():
        Packet.cross(rank, chunk, size if children else None, down)

    def down():
        for child in children:
            send(child)
        rank.next_phase(chunk)

    if not children:
        Packet.cross(rank, chunk, None, up)
    for child in children:
        receive(child, lambda: Packet.cross(rank, chunk, size, up))


SCRIPTS = {
    "ring": ring,
    "direct": direct,
    "halvingDoubling": halving_doubling,
    "doubleBinaryTree": double_binary_tree,
}
