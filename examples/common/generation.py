# SPDX-License-Identifier: Apache-2.0
"""The frame of the examples that generate text: options of the model and prompt, and the report."""

import argparse
from dataclasses import fields

from common import launch, llama


def parser(text: str, tokens: int = 32) -> argparse.ArgumentParser:
    result = launch.parser(text)
    for field in fields(llama.Config):
        result.add_argument(f"--{field.name.replace('_', '-')}", type=int, default=field.default, metavar="N")
    result.add_argument("--prompt", default="The planets move.")
    result.add_argument("--tokens", type=int, default=tokens, metavar="N", help=f"to generate (default {tokens})")
    return result


def start(arguments: argparse.ArgumentParser) -> tuple[launch.Run, llama.Config, list[int]]:
    """Joins the other ranks; gives the shape of the model and the prompt."""
    run = launch.start(arguments)
    config = llama.Config(**{field.name: getattr(run.args, field.name) for field in fields(llama.Config)})
    sizes = (config.dim, config.layers, config.heads, config.kv_heads, config.head_dim, config.hidden)
    run.require(min(sizes) > 0, "every size of the model must be positive")
    run.require(config.heads % config.kv_heads == 0, "--heads must be a multiple of --kv-heads")
    run.require(config.head_dim % 2 == 0, "--head-dim must be even")
    run.require(run.args.prompt != "" and run.args.tokens > 0, "needs a prompt and at least one token to generate")
    return run, config, llama.encode(run.args.prompt)


def finish(
    run: launch.Run,
    config: llama.Config,
    weights: llama.Weights,
    tokens: list[int],
    seconds: float,
    agree: bool = True,
) -> None:
    """Shows what was generated, next to what one process generates; `agree` is a comparison the script has made."""
    text = f"prompt:    {run.args.prompt}\ngenerated: {llama.decode(tokens)}"
    equal = None
    if run.checks:
        model = llama.Llama(config, weights)
        [expected] = llama.generate(model.next_token, [llama.encode(run.args.prompt)], len(tokens))
        equal = tokens == expected and agree
        text += f"\n1 process: {llama.decode(expected)}"
    rate = len(tokens) / seconds
    text += f"\n{len(tokens)} tokens on {run.world} ranks in {seconds:.3f} s, {rate:.1f} tokens/s"
    result = {"text": llama.decode(tokens), "tokens": tokens, "seconds": seconds, "tokens_per_second": rate}
    run.finish(text, result, equal)
