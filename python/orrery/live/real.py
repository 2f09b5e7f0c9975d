# SPDX-License-Identifier: Apache-2.0
"""Runs a program for real on this host: real.py SETTINGS PROGRAM..., SETTINGS being a JSON object.

torch is imported once; each launch then forks its ranks, which meet over gloo as under torchrun and note what they do
(recording.py). With "link", every rank lives in a network namespace of its own, and all of it in a process namespace:
nothing has a name outside, so whatever ends us, the kernel takes processes, interfaces and limits away.
"""

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

import launch as parts

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000
MS_PRIVATE, MS_REC, MS_BIND = 1 << 18, 1 << 14, 1 << 12
INTERFACE = "orrery0"
LAST_WORDS = 5.0  #: Seconds that ranks get when another one has failed.
PRIORITY = 10
QUEUE = 32 << 20  #: Bytes that a limited link may hold: TCP's windows fit, so nothing is dropped.
LARGEST_PACKET = 60 << 10


class Failure(Exception):
    """One line for the user."""


def main() -> None:
    settings, program = json.loads(sys.argv[1]), sys.argv[2:]
    try:
        prepare(settings)
        if settings["link"]:
            sys.exit(in_own_world(lambda: launch_all(settings, program)))
        launch_all(settings, program)
    except Failure as problem:
        tell(settings, str(problem))
        os._exit(3)
    except Exception as problem:
        kind = "" if type(problem).__name__ == "ShimError" else f"{type(problem).__name__}: "
        tell(settings, f"{kind}{problem}", "error")
        os._exit(2)
    os._exit(0)


def tell(settings: dict, text: str, kind: str = "failure") -> None:
    with open(os.path.join(settings["folder"], kind), "w") as file:
        file.write(text)


def stay_awake() -> None:
    """No core sleeps while we live: one that does wakes up late and with cold caches, and here waiting is short. The
    kernel takes the wish back when the file is closed, so after any ending."""
    try:
        file = os.open("/dev/cpu_dma_latency", os.O_WRONLY | os.O_CLOEXEC)
        os.write(file, (0).to_bytes(4, sys.byteorder))
    except OSError:
        pass  # No root, or no such file: the times are noisier.


def prepare(settings: dict) -> None:
    if settings["cores"]:
        stay_awake()
    parts.find_ourselves()
    from orrery_live import build_shim

    try:
        import torch  # noqa: F401
    except ImportError as problem:
        raise build_shim.ShimError(f"torch cannot be imported by {sys.executable}: {problem}") from problem
    if settings["records"]:
        from orrery_live import recording

        recording.install()


# ---- namespaces ----------------------------------------------------------------------------------------------------

libc = ctypes.CDLL(None, use_errno=True)


def unshare(what: int) -> None:
    if libc.unshare(what) != 0:
        raise Failure(f"a namespace cannot be made: {os.strerror(ctypes.get_errno())} (--link needs root)")


def in_own_world(action) -> int:
    """Does it as the first process of a new process namespace, whose end is the end of everybody in it."""
    unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET)
    first = os.fork()
    if first == 0:
        code = 2
        try:
            libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
            libc.mount(b"proc", b"/proc", b"proc", 0, None)
            name_addresses()
            action()
            code = 0
        except Failure as problem:
            tell(json.loads(sys.argv[1]), str(problem))
            code = 3
        finally:
            os._exit(code)
    _, status = os.waitpid(first, 0)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 3


def name_addresses() -> None:
    """Torch looks up the names of addresses it talks to; there is nobody to ask in there."""
    settings = json.loads(sys.argv[1])
    path = os.path.join(settings["folder"], "hosts")
    with open(path, "w") as file:
        file.write("127.0.0.1 localhost\n::1 localhost\n")
        for rank in range(settings["ranks"]):
            file.write(f"{address_of(rank)} rank{rank}\n::ffff:{address_of(rank)} rank{rank}\n")
    libc.mount(path.encode(), b"/etc/hosts", None, MS_BIND, None)


def command(*words: object) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.returncode}")


def inside(process: int, *words: object) -> None:
    command("nsenter", "-t", process, "-n", *words)


def limit(where: tuple, device: str, link: dict) -> None:
    rate = ("rate", f"{link['bits']}bit", "burst", link["burst"], "limit", QUEUE)
    inside(*where, "tc", "qdisc", "add", "dev", device, "root", "tbf", *rate)


def packet_bytes(link: dict) -> int:
    """What TCP hands to the interface at once. A network card cuts that into frames by itself; here the limit would do
    it, as far as the bucket cannot take it whole, and frame by frame a link of 1 Gbit/s takes all of a core. Less than
    the bucket: tokens that come while a timer is late must find room, or the rate is not kept."""
    return min(link["burst"] // 2, LARGEST_PACKET)


def wire(processes: list, link: dict) -> None:
    """Two ranks share a cable; more hang on a bridge in our own namespace. Every direction has its limit."""
    if len(processes) == 2:
        first, second = processes
        ends = ("type", "veth", "peer", "name", INTERFACE, "netns", second)
        command("ip", "link", "add", INTERFACE, "netns", first, *ends)
    else:
        command("ip", "link", "add", "bridge0", "type", "bridge")
        command("ip", "link", "set", "bridge0", "up")
    for rank, process in enumerate(processes):
        if len(processes) != 2:
            port = f"port{rank}"
            command("ip", "link", "add", port, "type", "veth", "peer", "name", INTERFACE, "netns", process)
            command("ip", "link", "set", port, "master", "bridge0", "up")
            limit((os.getpid(),), port, link)
        inside(process, "ip", "link", "set", "lo", "up")
        inside(process, "ip", "address", "add", f"{address_of(rank)}/16", "dev", INTERFACE)
        inside(process, "ip", "link", "set", INTERFACE, "up", "gso_max_size", packet_bytes(link))
        limit((process,), INTERFACE, link)


def unwire(count: int) -> None:
    """Ports of a bridge go with the ranks' namespaces, but at some later moment; the next launch wants their names."""
    if count == 2:
        return
    for name in ("bridge0", *(f"port{rank}" for rank in range(count))):
        subprocess.run(["ip", "link", "delete", name], capture_output=True, check=False)


def address_of(rank: int) -> str:
    return f"10.77.{(rank + 1) // 256}.{(rank + 1) % 256}"


# ---- launches ------------------------------------------------------------------------------------------------------


def launch_all(settings: dict, program: list) -> None:
    for number in range(settings["first"], settings["first"] + settings["repeat"]):
        launch(settings, program, number)


def launch(settings: dict, program: list, number: int) -> None:
    folder = os.path.join(settings["folder"], str(number))
    os.mkdir(folder)
    port = free_port() if not settings["link"] else 29500
    ready, go = os.pipe(), os.pipe()
    processes = []
    for rank in range(settings["ranks"]):
        process = os.fork()
        if process == 0:
            try:
                be_rank(settings, program, rank, {"folder": folder, "port": port, "ready": ready, "go": go})
            finally:
                os._exit(70)
        processes.append(process)
    os.close(ready[1])
    os.close(go[0])
    for _ in processes:
        if os.read(ready[0], 1) == b"":
            break
    if settings["link"]:
        wire(processes, settings["link"])
    os.write(go[1], b"x" * len(processes))
    os.close(ready[0])
    os.close(go[1])
    watch(processes, number)
    if settings["link"]:
        unwire(len(processes))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def be_rank(settings: dict, program: list, rank: int, place: dict) -> None:
    libc.prctl(1, signal.SIGKILL)
    from orrery_live import rank as this

    if settings["link"]:
        unshare(CLONE_NEWNET)
    os.close(place["go"][1])
    os.write(place["ready"][1], b"x")
    os.close(place["ready"][1])
    os.close(place["ready"][0])
    if os.read(place["go"][0], 1) == b"":
        os._exit(70)
    os.close(place["go"][0])
    os.environ["MASTER_ADDR"] = address_of(0) if settings["link"] else "127.0.0.1"
    os.environ["MASTER_PORT"] = str(place["port"])
    os.environ.setdefault("GLOO_SOCKET_IFNAME", INTERFACE if settings["link"] else "lo")
    this.set_environment(rank, settings["ranks"])
    if place["folder"].rpartition("/")[2] != "0":
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Launches print the same; one is enough.
    be_quick(settings, rank)
    this.reseed()
    if settings["records"]:
        from orrery_live import recording

        this.leave = lambda status: leave(place["folder"], status)
        recording.start()
    else:
        this.leave = lambda status: leave_unrecorded(place["folder"], rank, status, time.monotonic_ns())
    this.run_program(program)


def be_quick(settings: dict, rank: int) -> None:
    """A core of its own, and nobody else on it: what else runs here must not be part of the measurement."""
    if not settings["cores"]:
        return
    os.sched_setaffinity(0, {settings["cores"][rank]})
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        return  # The record says so.
    if settings["records"]:
        from orrery_live import recording

        recording.prioritise(PRIORITY)


def leave(folder: str, status: int) -> None:
    finish()
    from orrery_live import recording

    recording.write(folder, status)
    os._exit(status)


def leave_unrecorded(folder: str, rank: int, status: int, began: int) -> None:
    finish()
    with open(os.path.join(folder, f"rank.{rank}.bare"), "w") as file:
        file.write(f"{time.monotonic_ns() - began}\n")
    os._exit(status)


def finish() -> None:
    import atexit
    import threading

    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def watch(processes: list, number: int) -> None:
    """Until all have ended. When one fails, the others get a moment, as they may want to say something."""
    left = {process: rank for rank, process in enumerate(processes)}
    failure, deadline = "", None
    while left:
        process, status = os.waitpid(-1, 0 if deadline is None else os.WNOHANG)
        rank = left.pop(process, None)
        code = os.waitstatus_to_exitcode(status) if process else 0
        if rank is not None and code != 0 and not failure:
            how = f"was killed by signal {-code}" if code < 0 else f"exited with status {code}"
            failure = f"rank {rank} {how}" + (f" in launch {number + 1}" if number else "")
            deadline = time.monotonic() + LAST_WORDS
        if process == 0:
            select.select([], [], [], 0.01)
            if time.monotonic() > deadline:
                for other in left:
                    os.kill(other, signal.SIGKILL)
    if failure:
        raise Failure(failure)


if __name__ == "__main__":
    main()
