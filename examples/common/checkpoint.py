# SPDX-License-Identifier: Apache-2.0
"""Random weights, the same everywhere: made once, kept in a file, mapped by every rank.

Every tensor has a generator of its own, seeded by the tensor's name. The file lies in the user's cache directory;
ranks of one machine map it with mmap=True, so that they share its pages and slices cost no memory.
"""

import hashlib
import os
import zlib
from dataclasses import asdict
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

from common.llama import VOCABULARY, Config, Weights

FORMAT = 2  # Another number for another recipe: old files are then left alone.


def random(name: str, shape: tuple[int, ...], seed: int = 0, scale: float | None = None) -> Tensor:
    """A normal tensor that depends on its name, shape and seed only; scale 1/sqrt(inputs) keeps activations near 1."""
    generator = torch.Generator().manual_seed(zlib.crc32(f"{name} {seed}".encode()))
    return torch.randn(shape, generator=generator) * (shape[-1] ** -0.5 if scale is None else scale)


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    queries, keys = config.heads * config.head_dim, config.kv_heads * config.head_dim
    layer = {
        "wq": (queries, config.dim),
        "wk": (keys, config.dim),
        "wv": (keys, config.dim),
        "wo": (config.dim, queries),
        "w1": (config.hidden, config.dim),
        "w2": (config.dim, config.hidden),
        "w3": (config.hidden, config.dim),
    }
    result = {f"layers.{index}.{name}": shape for index in range(config.layers) for name, shape in layer.items()}
    return {"embedding": (VOCABULARY, config.dim), "output": (VOCABULARY, config.dim), **result}


def make(config: Config) -> Weights:
    weights = {name: random(name, shape, config.weights_seed) for name, shape in shapes(config).items()}
    weights["embedding"] *= config.dim**0.5
    for byte in {*range(VOCABULARY)} - {*range(32, 127)}:
        weights["output"][byte] = 0  # Never the largest: what is generated can be printed.
    norms = [f"layers.{index}.{name}_norm" for index in range(config.layers) for name in ("attention", "ffn")]
    return weights | {name: torch.ones(config.dim) for name in ("norm", *norms)}


def load(config: Config) -> Weights:
    """Collective: the first rank of every machine makes the file if it is missing, then all map it."""
    directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "torch-distributed-examples"
    key = hashlib.sha256(repr((FORMAT, sorted(asdict(config).items()))).encode()).hexdigest()[:16]
    path = directory / f"llama-{key}.pt"
    if os.environ.get("LOCAL_RANK", "0") == "0" and not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        torch.save(make(config), partial)
        partial.replace(path)
    dist.barrier()
    return torch.load(path, mmap=True, weights_only=True)
