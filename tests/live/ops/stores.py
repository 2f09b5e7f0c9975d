# SPDX-License-Identifier: Apache-2.0
"""Stores: every method, from every rank, as the documentation of TCPStore has them."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist
from common import expect, expect_error, run_cases, simulated_only


stores = []  # A real one ends with its master.


def tcp_store(rank, size, port):
    stores.append(dist.TCPStore("127.0.0.1", port, size, rank == 0, timedelta(seconds=30)))
    return stores[-1]


def case_values(rank, size):
    store = tcp_store(rank, size, 29611)
    expect(store.port, 29611)
    expect(store.host, "127.0.0.1")
    store.set(f"key{rank}", f"value{rank}")
    for i in range(size):
        expect(store.get(f"key{i}"), f"value{i}".encode())
    store.set("bytes", b"\0\1\2")
    expect(store.get("bytes"), b"\0\1\2")
    dist.barrier()
    assert store.check([f"key{i}" for i in range(size)]) and not store.check(["key0", "absent"])
    dist.barrier()
    if rank == 0:
        assert store.delete_key("key0") and not store.delete_key("key0")
    dist.barrier()
    assert not store.check(["key0"])


def case_counting(rank, size):
    store = tcp_store(rank, size, 29612)
    store.add("counter", rank + 1)
    dist.barrier()
    expect(store.add("counter", 0), size * (size + 1) // 2)
    expect(store.get("counter"), str(size * (size + 1) // 2).encode())
    dist.barrier()
    expect(store.num_keys(), 2)  # With the one a TCPStore makes itself.


def case_waiting(rank, size):
    store = tcp_store(rank, size, 29613)
    if rank == 0:
        store.set("first", "1")
        store.set("second", "2")
    store.wait(["first", "second"])
    store.wait(["first"], timedelta(seconds=5))
    expect_error(dist.DistStoreError, "wait timeout after 300ms", store.wait, ["never"], timedelta(milliseconds=300))
    store.set_timeout(timedelta(milliseconds=200))
    expect(store.timeout, timedelta(milliseconds=200))
    expect_error(dist.DistStoreError, "timeout", store.get, "never")


def case_compare_and_set(rank, size):
    store = tcp_store(rank, size, 29614)
    if rank == 0:
        expect(store.compare_set("absent", "something", "new"), b"something")
        expect(store.compare_set("fresh", "", "first"), b"first")
        expect(store.compare_set("fresh", "wrong", "second"), b"first")
        expect(store.compare_set("fresh", "first", "second"), b"second")
    dist.barrier()
    expect(store.get("fresh"), b"second")


def case_many(rank, size):
    store = tcp_store(rank, size, 29615)
    assert store.has_extended_api()
    if rank == 0:
        store.multi_set(["a", "b"], ["1", "2"])
        store.append("log", "x")
        store.append("log", "y")
    dist.barrier()
    expect(store.multi_get(["a", "b"]), [b"1", b"2"])
    expect(store.get("log"), b"xy")


def case_queues(rank, size):
    store = tcp_store(rank, size, 29616)
    if rank == 0:
        for i in range(size):
            store.queue_push("jobs", f"job{i}")
    job = store.queue_pop("jobs")
    gathered = [None] * size
    dist.all_gather_object(gathered, job)
    expect(sorted(gathered), sorted(f"job{i}".encode() for i in range(size)))
    expect(store.queue_len("jobs"), 0)
    expect_error(dist.QueueEmptyError, "empty", store.queue_pop, "jobs", False)


def case_prefixes(rank, size):
    store = tcp_store(rank, size, 29617)
    inner = dist.PrefixStore("inner", store)
    inner.set(f"k{rank}", "v")
    dist.barrier()
    expect(inner.get(f"k{(rank + 1) % size}"), b"v")
    assert not store.check(["k0"])
    if hasattr(store, "list_keys"):
        assert "inner/k0" in store.list_keys()


def case_clones(rank, size):
    store = tcp_store(rank, size, 29618)
    copy = store.clone()
    copy.set(f"k{rank}", "v")
    expect(store.get(f"k{rank}"), b"v")


def case_file_store(rank, size):
    path = [None]
    if rank == 0:
        path = [f"/tmp/orrery-file-store-{os.getpid()}"]
    dist.broadcast_object_list(path, src=0)
    store = dist.FileStore(path[0], size)
    store.set(f"k{rank}", str(rank))
    for i in range(size):
        expect(store.get(f"k{i}"), str(i).encode())
    dist.barrier()


def case_hash_store(rank, size):
    first, second = dist.HashStore(), dist.HashStore()
    first.set("k", str(rank))
    expect(first.get("k"), str(rank).encode())
    assert not second.check(["k"])


@simulated_only
def case_free_port(rank, size):
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, None, True)
        assert store.port > 0


def case_default_store(rank, size):
    store = dist.distributed_c10d._get_default_store()
    store.set(f"mine{rank}", "x")
    expect(store.get(f"mine{(rank + 1) % size}"), b"x")
    dist.barrier()


@simulated_only  # torchrun's agent keeps one store for all times.
def case_rounds_of_init(rank, size):
    """The same address again must not show the keys of the last time."""
    for _ in range(2):
        dist.destroy_process_group()
        dist.init_process_group("gloo")
        store = dist.distributed_c10d._get_default_store()
        expect(store.add("round", 1) <= size, True)
        tensor = torch.ones(1)
        dist.all_reduce(tensor)
        expect(tensor, torch.tensor([float(size)]))


def case_explicit_store(rank, size):
    dist.destroy_process_group()
    dist.init_process_group("gloo", store=tcp_store(rank, size, 29619), rank=rank, world_size=size)
    dist.barrier()


@simulated_only  # Under torchrun every rank would be a client of the agent.
def case_other_ways_to_init(rank, size):
    dist.destroy_process_group()
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29621", rank=rank, world_size=size)
    dist.barrier()
    paths = [f"/tmp/orrery-rendezvous-{os.getpid()}"]
    dist.broadcast_object_list(paths, src=0)
    dist.destroy_process_group()
    dist.init_process_group(init_method=f"file://{paths[0]}", rank=rank, world_size=size)
    dist.barrier()


@simulated_only
def case_mpi(rank, size):
    dist.destroy_process_group()
    dist.init_process_group("mpi")
    expect((dist.get_rank(), dist.get_world_size(), dist.get_backend()), (rank, size, "mpi"))
    dist.barrier()


if __name__ == "__main__":
    run_cases(globals())
