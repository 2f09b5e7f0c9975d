# SPDX-License-Identifier: Apache-2.0
"""Two towers as in CLIP: images on the even ranks, texts on the odd ones, similarities from both.

Each pair of ranks takes its share of images and captions. The towers never talk; one all-gather of the embeddings at
the end gives every rank what it needs for the table of all images against all texts. One process alone has both
towers. --check compares the table with one process (1e-4 absolute).

    torchrun --nproc-per-node 2 examples/two_tower.py --check
"""

import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from common import launch

DIM, SIDE, PATCH, LENGTH = 128, 32, 8, 24
BODIES = ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune")


def encoder(layers: int) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(DIM, nhead=4, dim_feedforward=4 * DIM, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(DIM), enable_nested_tensor=False)


class ImageTower(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, DIM, kernel_size=PATCH, stride=PATCH)
        self.positions = nn.Parameter(0.1 * torch.randn((SIDE // PATCH) ** 2, DIM))
        self.encoder = encoder(layers)

    def forward(self, images: Tensor) -> Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2) + self.positions
        return F.normalize(self.encoder(x).mean(dim=1), dim=-1)


class TextTower(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, DIM)
        self.positions = nn.Parameter(0.1 * torch.randn(LENGTH, DIM))
        self.encoder = encoder(layers)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        x = self.encoder(self.embedding(tokens) + self.positions, mask=mask, is_causal=True)
        return F.normalize(x[:, -1], dim=-1)


def build(kind: type[nn.Module], layers: int) -> nn.Module:
    torch.manual_seed(len(kind.__name__))  # The same weights wherever a tower is built.
    return kind(layers).eval()


def inputs(count: int) -> tuple[Tensor, Tensor, list[str]]:
    captions = [f"a photo of {BODIES[i % len(BODIES)]}" for i in range(count)]
    tokens = torch.tensor([list(caption.encode().rjust(LENGTH)) for caption in captions])
    images = torch.randn(count, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    return images, tokens, captions


def similarities(images: Tensor, texts: Tensor) -> Tensor:
    return 100.0 * images @ texts.T


@torch.inference_mode()
def main() -> None:
    parser = launch.parser(__doc__)
    parser.add_argument("--layers", type=int, default=4, metavar="N", help="of each tower (default 4)")
    parser.add_argument("--count", type=int, default=4, metavar="N", help="images and texts per pair of ranks")
    run = launch.start(parser)
    run.require(run.world == 1 or run.world % 2 == 0, f"needs 1 rank or pairs of ranks, not {run.world}")
    count, layers, pairs = run.args.count, run.args.layers, max(1, run.world // 2)
    images, tokens, captions = inputs(count * pairs)
    mine = slice(run.rank // 2 * count, (run.rank // 2 + 1) * count)
    work = {0: [(ImageTower, images[mine])], 1: [(TextTower, tokens[mine])]}[run.rank % 2]
    if run.world == 1:
        work = [(ImageTower, images), (TextTower, tokens)]
    towers = [(build(kind, layers), data) for kind, data in work]

    began = run.begin()
    local = torch.cat([tower(data) for tower, data in towers])
    gathered = [torch.empty_like(local) for _ in range(run.world)]
    dist.all_gather(gathered, local)
    parts = torch.cat(gathered).unflatten(0, (pairs, 2, count))
    logits = similarities(parts[:, 0].flatten(0, 1), parts[:, 1].flatten(0, 1))
    seconds = time.perf_counter() - began

    equal = None
    if run.checks:
        expected = similarities(build(ImageTower, layers)(images), build(TextTower, layers)(tokens))
        equal = torch.allclose(logits, expected, rtol=0, atol=1e-4)
    lines = ["similarity  " + "".join(f"{caption.split()[-1]:>9}" for caption in captions)]
    lines += [f"image {i:<6}" + "".join(f"{value:>9.2f}" for value in row) for i, row in enumerate(logits.tolist())]
    lines.append(f"{len(logits)} images and texts on {run.world} ranks in {seconds:.3f} s")
    run.finish("\n".join(lines), {"logits": logits.tolist(), "seconds": seconds}, equal)


if __name__ == "__main__":
    main()
