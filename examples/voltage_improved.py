# SPDX-License-Identifier: Apache-2.0
"""Voltage with the all-gather hidden behind the next layer's queries.

A rank needs only its own rows for its next queries. So the all-gather of a layer's output runs while the norm, the
query matrix and the rotation of the next layer are applied to those rows; keys and values then wait for the rest. With
--check the tokens are compared with one process and with plain Voltage, and the logits with plain Voltage's (1e-4
absolute).

    torchrun --nproc-per-node 2 examples/voltage_improved.py --check
"""

import time

import torch
import torch.nn.functional as F
from torch import Tensor

from common import checkpoint, generation, llama
from voltage import Voltage, serve


class ImprovedVoltage(Voltage):
    def logits(self, tokens: Tensor, start: int) -> Tensor:
        parts = self.parts(tokens.shape[1])
        mine = parts[self.rank]
        positions = start + torch.arange(tokens.shape[1])[None]
        x = F.embedding(tokens, self.weights["embedding"])
        my_rows = x[:, mine]
        pending = None
        for index, layer in enumerate(self.layers):
            q = self.queries(index, llama.rms_norm(my_rows, layer["attention_norm"]), positions[:, mine])
            if pending:
                x = self.end_gather(pending, parts)
            normed = llama.rms_norm(x, layer["attention_norm"])
            h = my_rows + self.attend(index, q, normed, positions, mine)
            my_rows = h + llama.feed_forward(layer, llama.rms_norm(h, layer["ffn_norm"]))
            pending = self.begin_gather(my_rows, parts)
        return llama.head(self.weights, self.end_gather(pending, parts))


def main() -> None:
    run, config, prompt = generation.start(generation.parser(__doc__))
    weights = checkpoint.load(config)
    model = ImprovedVoltage(config, weights)

    began = run.begin()
    tokens = serve(model, prompt, run.args.tokens)
    seconds = time.perf_counter() - began

    agree = True
    if run.args.check:
        agree = tokens == serve(Voltage(config, weights), prompt, run.args.tokens)
        with torch.inference_mode():
            kinds = (Voltage, ImprovedVoltage)
            plain, improved = (kind(config, weights).logits(torch.tensor([prompt]), 0) for kind in kinds)
        agree = agree and torch.allclose(plain, improved, rtol=0, atol=1e-4)
    generation.finish(run, config, weights, tokens, seconds, agree)


if __name__ == "__main__":
    main()
