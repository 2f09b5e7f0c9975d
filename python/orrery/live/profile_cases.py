# SPDX-License-Identifier: Apache-2.0
"""What `orrery profile-ops` measures: operators of torch on shapes that cover what programs use.

Shapes are drawn evenly in the logarithm of their sizes by a fixed sequence (Halton), so that points lie between powers
of two as well, and the same on every machine. Weights come from memory, as those of a model larger than the caches do:
each product has several sets of them in turn. Everything else is hot.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch

COLD_BYTES = 96 << 20  #: Weights in turn take at least this much together.
MOST_SETS = 256


class Case(NamedTuple):
    operator: str  #: As the table names it.
    dtype: str
    sizes: tuple[int, ...]
    make: Callable[[], Callable[[], object]]  #: Prepares data; gives what is to be timed.


DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "fp64": torch.float64}


def halton(index: int, base: int) -> float:
    value, share = 0.0, 1.0
    while index > 0:
        share /= base
        value += share * (index % base)
        index //= base
    return value


def spread(count: int, *ranges: tuple[float, float], fits: Callable[..., bool]) -> Iterator[tuple[int, ...]]:
    """`count` tuples of sizes, each within its range of powers of two."""
    found, index = 0, 0
    while found < count:
        index += 1
        shares = (halton(index, base) for base in (2, 3, 5, 7, 11))
        sizes = tuple(rounded(2 ** (low + (high - low) * share)) for (low, high), share in zip(ranges, shares))
        if fits(*sizes):
            found += 1
            yield sizes


def rounded(size: float) -> int:
    """Sizes as programs have them: multiples of 16 from 32 on."""
    return max(1, round(size)) if size < 24 else 16 * round(size / 16)


def in_turn(function: Callable, sets: list) -> Callable[[], object]:
    state = {"next": 0}

    def call():
        state["next"] = (state["next"] + 1) % len(sets)
        return function(*sets[state["next"]])

    return call


def gemm(dtype: str, batch: int, m: int, n: int, k: int, layout: str = "nt") -> Case:
    """Layout nt is that of linear layers; nn and tn are those of their gradients, whose factors are all hot."""
    kind = DTYPES[dtype]
    if layout != "nt":

        def make_hot():
            a, b = torch.randn(*((m, k) if layout == "nn" else (k, m))).to(kind), torch.randn(k, n).to(kind)
            return (lambda: torch.mm(a, b)) if layout == "nn" else (lambda: torch.mm(a.t(), b))

        return Case(f"gemm@{layout}", dtype, (batch, m, n, k), make_hot)

    def make():
        if batch > 1:
            a, b = torch.randn(batch, m, k).to(kind), torch.randn(batch, k, n).to(kind)
            return lambda: torch.bmm(a, b)
        weight_bytes = n * k * torch.finfo(kind).bits // 8
        count = max(1, min(MOST_SETS, math.ceil(COLD_BYTES / weight_bytes)))
        a, bias = torch.randn(m, k).to(kind), torch.randn(n).to(kind)
        weights = torch.randn(count, n, k).to(kind)
        return in_turn(lambda b: torch.addmm(bias, a, b), [(weight.t(),) for weight in weights])

    return Case("gemm", dtype, (batch, m, n, k), make)


def gemms(dtype: str, count: int) -> Iterator[Case]:
    for n in (64, 256, 768, 2048, 4096):  # Single rows are a kind of their own.
        for k in (64, 256, 768, 2048, 4096):
            yield gemm(dtype, 1, 1, n, k)
    yield gemm(dtype, 1, 1, 32000, 512)
    for m, n, k in ((8, 64, 64), (8, 256, 64), (8, 64, 256), (8, 192, 64)):  # Of the reference model below.
        yield gemm(dtype, 1, m, n, k)
    most = 3e9
    for m, n, k in spread(
        count, (1, 12), (5, 12.5), (4, 12.5), fits=lambda m, n, k: m > 1 and 2e5 < 2 * m * n * k < most
    ):
        yield gemm(dtype, 1, m, n, k)
    for index, (m, n, k) in enumerate(
        spread(count, (4, 12), (5, 12.5), (4, 12.5), fits=lambda m, n, k: 1e6 < 2 * m * n * k < most)
    ):
        yield gemm(dtype, 1, m, n, k, ("nn", "tn")[index % 2])
    for m, n, k in ((16, 32000, 256), (64, 32000, 256), (128, 8192, 512), (4, 32000, 512)):  # Heads over a vocabulary.
        yield gemm(dtype, 1, m, n, k)
    for batch, m, n, k in spread(
        count // 5, (2, 6), (4, 9), (4, 9), (5, 7), fits=lambda b, m, n, k: 1e5 < 2 * b * m * n * k < most
    ):
        yield gemm(dtype, batch, m, n, k)


def attention(dtype: str, sizes: tuple[int, ...], is_causal: bool, is_backward: bool = False) -> Case:
    batch, heads, key_heads, queries, keys, width = sizes
    kind = DTYPES[dtype]

    def make():
        q = torch.randn(batch, heads, queries, width).to(kind)
        k, v = (torch.randn(batch, key_heads, keys, width).to(kind) for _ in range(2))
        if not is_backward:
            function = torch.nn.functional.scaled_dot_product_attention
            return lambda: function(q, k, v, is_causal=is_causal, enable_gqa=heads != key_heads)
        forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        out, lse = forward(q, k, v, 0.0, is_causal)
        grad = torch.randn_like(out)
        backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        return lambda: backward(grad, q, k, v, out, lse, 0.0, is_causal)

    name = "attention" + ("_causal" if is_causal else "") + ("_backward" if is_backward else "")
    return Case(name, dtype, sizes, make)


def attentions(dtype: str, count: int) -> Iterator[Case]:
    yield attention(dtype, (1, 4, 4, 8, 8, 16), True)  # Of the reference model.
    most = 1.5e9

    def fits(batch, heads, queries, width):
        return 1e5 < 4 * batch * heads * queries * queries * width < most

    for index, (heads, queries, width) in enumerate(
        spread(count, (2, 4), (3, 10), (4.5, 7), fits=lambda h, q, w: fits(1, h, q, w))
    ):
        batch = (1, 2, 4, 8)[index % 4]
        if not fits(batch, heads, queries, width):
            batch = 1
        sizes = (batch, heads, heads, queries, queries, width)
        yield attention(dtype, sizes, True)
        yield attention(dtype, sizes, False)
        if index % 2 == 0:
            yield attention(dtype, sizes, True, True)
            yield attention(dtype, sizes, False, True)
    for index, (heads, keys, width) in enumerate(
        spread(count // 2, (2, 4), (4, 11), (4.5, 7), fits=lambda h, k, w: True)
    ):
        yield attention(dtype, ((1, 4)[index % 2], heads, heads, 1, keys, width), False)


UNARY = {
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
    **{name: getattr(torch, name) for name in ("relu", "tanh", "sigmoid", "exp", "rsqrt", "sqrt", "neg")},
    **{name: getattr(torch, name) for name in ("sum", "mean")},
    "pow": lambda x: torch.pow(x, 2),
    "copy": torch.clone,
    "fill": lambda x: x.fill_(1.0),
    "argmax": lambda x: torch.argmax(x.view(-1), dim=-1),
}
BINARY = {
    **{name: getattr(torch, name) for name in ("add", "sub", "mul", "div")},
    "threshold_backward": lambda x, y: torch.ops.aten.threshold_backward(x, y, 0.0),
    "gelu_backward": torch.ops.aten.gelu_backward,
    "silu_backward": torch.ops.aten.silu_backward,
    "cat": lambda x, y: torch.cat((x.view(-1)[: x.numel() // 2], y.view(-1)[: y.numel() // 2])),
    "lerp": lambda x, y: x.lerp_(y, 0.1),
    "addcmul": lambda x, y: x.addcmul_(y, y, value=0.01),
    "addcdiv": lambda x, y: x.addcdiv_(y, y, value=0.01),
    "where": lambda x, y: torch.where(x > 0, x, y),
}
#: For operators of a class that have no points of their own.
STANDS_FOR = {"mul": "elementwise", "sum": "reduction", "copy": "memory"}


def streams(dtype: str, powers: list[float]) -> Iterator[Case]:
    kind = DTYPES[dtype]
    for elements in (rounded(2**power) for power in powers):
        for name, function in {**UNARY, **BINARY}.items():
            inputs = 1 if name in UNARY else 2

            def make(function=function, inputs=inputs, elements=elements):
                data = [(torch.rand(elements) + 0.5).to(kind) for _ in range(inputs)]
                return lambda: function(*data)

            yield Case(name, dtype, (elements,), make)
            if name in STANDS_FOR:
                yield Case(STANDS_FOR[name], dtype, (elements,), make)

        def make_strided(elements=elements):
            columns = 16 if elements >= 256 else 1
            data = torch.rand(elements // columns // 4 * 4 or 1, columns).to(kind)
            data = data.view(4, -1, columns).transpose(0, 1) if data.shape[0] >= 4 else data.t()
            return lambda: data.contiguous()

        yield Case("copy_strided", dtype, (elements,), make_strided)


def rows(dtype: str, count: int) -> Iterator[Case]:
    kind, functional = DTYPES[dtype], torch.nn.functional
    shapes = [(8, 64), (1, 512), (1, 2048), *spread(count, (0, 11), (5, 12), fits=lambda r, c: r * c < 1 << 22)]
    for height, width in shapes:

        def data(height=height, width=width):
            return torch.randn(height, width).to(kind), torch.randn(width).to(kind)

        def layer_norm(data=data, width=width):
            x, weight = data()
            return lambda: functional.layer_norm(x, (width,), weight, weight)

        def layer_norm_backward(data=data, width=width):
            x, weight = data()
            out, mean, deviation = torch.native_layer_norm(x, (width,), weight, weight, 1e-5)
            function = torch.ops.aten.native_layer_norm_backward
            return lambda: function(out, x, (width,), mean, deviation, weight, weight, [True, True, True])

        def softmax(data=data):
            x, _ = data()
            return lambda: torch.softmax(x, -1)

        def softmax_backward(data=data):
            x = torch.softmax(data()[0], -1)
            return lambda: torch.ops.aten._softmax_backward_data(x, x, -1, kind)

        for make in (layer_norm, layer_norm_backward, softmax, softmax_backward):
            yield Case(make.__name__, dtype, (height, width), make)


def embeddings(dtype: str) -> Iterator[Case]:
    kind = DTYPES[dtype]
    for tokens in (1, 8, 64, 512, 4096):
        for width in (64, 512, 2048):

            def make(tokens=tokens, width=width):
                table, index = torch.randn(8000, width).to(kind), torch.randint(8000, (tokens,))
                return lambda: torch.nn.functional.embedding(index, table)

            yield Case("embedding", dtype, (tokens * width,), make)


def steps(dtype: str) -> Iterator[Case]:
    kind = DTYPES[dtype]
    for tensors in (1, 4, 16, 64):
        for elements in (1 << 10, 1 << 14, 1 << 18, 1 << 21):

            def make(tensors=tensors, elements=elements):
                lists = [[torch.rand(elements // tensors).to(kind) for _ in range(tensors)] for _ in range(4)]
                counts = [torch.ones(()) for _ in range(tensors)]
                return lambda: torch._fused_adamw_(
                    *lists, [], counts, lr=1e-4, beta1=0.9, beta2=0.99, weight_decay=0.0, eps=1e-8, amsgrad=False,
                    maximize=False,
                )

            yield Case("_fused_adamw", dtype, (tensors, elements // tensors * tensors), make)


def of_model(text: str, dtype: str) -> Iterator[Case]:
    """The products and the attention of one decoder layer: "hidden=512,heads=8,ffn=2048,tokens=128[,batch=1]"."""
    values = {"batch": 1, **{key: int(value) for key, _, value in (word.partition("=") for word in text.split(","))}}
    hidden, heads, inner, tokens, batch = (values[key] for key in ("hidden", "heads", "ffn", "tokens", "batch"))
    for n, k in ((hidden, hidden), (3 * hidden, hidden), (inner, hidden), (hidden, inner)):
        yield gemm(dtype, 1, batch * tokens, n, k)
    yield attention(dtype, (batch, heads, heads, tokens, tokens, hidden // heads), True)


def all_cases(dtype: str, is_quick: bool, models: list[str]) -> list[Case]:
    powers = [6, 11, 13, 15, 17, 19, 21.5, 23] if not is_quick else [6, 13, 17, 20]
    found = [
        *gemms(dtype, 60 if is_quick else 260),
        *attentions(dtype, 14 if is_quick else 40),
        *streams(dtype, powers),
        *rows(dtype, 8 if is_quick else 30),
        *embeddings(dtype),
        *steps(dtype),
        *(case for model in models for case in of_model(model, dtype)),
    ]
    return found
