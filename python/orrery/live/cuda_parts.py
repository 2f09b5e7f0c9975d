# SPDX-License-Identifier: Apache-2.0
"""What the memory of a simulated device is for: parameters, gradients, an optimizer's state, activations.

The library counts blocks and sees which operators autograd records: what those give are activations. The rest is known
in Python alone, and mostly later than the memory was made, so blocks are marked where torch passes by: where parameters
are made and moved, after backward, around an optimizer's step. Marking runs no operator and costs no virtual time.
"""

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType

#: Modules that have parameters. Not the parameters: torch swaps no tensors that somebody refers to weakly.
_modules: weakref.WeakSet = weakref.WeakSet()
_present: Callable[[], object] = lambda: None  #: The optimizer whose step is or was the last.


def install(library: ModuleType) -> None:
    import torch
    from torch.nn.modules.module import register_module_parameter_registration_hook
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    global _library, _torch
    _library, _torch = library, torch
    library.set_collector(collect)
    register_module_parameter_registration_hook(lambda module, name, parameter: add(module, parameter))
    register_optimizer_step_pre_hook(begin_step)
    register_optimizer_step_post_hook(lambda optimizer, *_: collect())
    watch_parameters(torch)
    watch_autograd(torch)
    watch_buckets(torch)


# ---- marking -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def uncharged() -> Iterator[None]:
    """Our own work: no time of the program, and no business of its modes."""
    _library.pause()
    try:
        with _torch._C.DisableTorchFunction():
            yield
    finally:
        _library.resume()


def plain(thing: object) -> Iterator:
    """The tensors with memory in it: in containers, and behind wrappers (DTensor), which tell what they hold."""
    if isinstance(thing, _torch.Tensor):
        if hasattr(type(thing), "__tensor_flatten__"):
            for name in thing.__tensor_flatten__()[0]:
                yield from plain(getattr(thing, name))
        else:
            yield thing
    elif isinstance(thing, (dict, list, tuple)):
        for part in thing.values() if isinstance(thing, dict) else thing:
            yield from plain(part)


def mark_parameter(parameter: object) -> None:
    with uncharged():
        _library.mark(list(plain(parameter)), _library.PARAMETER)


def add(module: object, parameter: object) -> None:
    _modules.add(module)
    mark_parameter(parameter)


def collect() -> None:
    """Marks what the parameters, their gradients and the last optimizer have now."""
    with uncharged():
        held = [made for module in list(_modules) for made in module._parameters.values() if made is not None]
        optimizer = _present()
        if optimizer is not None:
            held += [made for group in optimizer.param_groups for made in group["params"]]
            _library.mark(list(plain(optimizer.state)), _library.OPTIMIZER)
        _library.mark(list(plain(held)), _library.PARAMETER)
        gradients = [made.grad for made in held if made.is_leaf and made.grad is not None]
        _library.mark(list(plain(gradients)), _library.GRADIENT)


def begin_step(optimizer: object, *_: object) -> None:
    global _present
    _present = weakref.ref(optimizer)
    collect()


# ---- where torch passes by -----------------------------------------------------------------------------------------


def watch_parameters(torch: ModuleType) -> None:
    """Parameters when they are made, and when a module is moved (`.to()`, `.cuda()`, `to_empty()`)."""
    create, move = torch.nn.Parameter.__new__, torch.nn.Module._apply

    @functools.wraps(create)
    def new(cls, *arguments, **options):
        made = create(cls, *arguments, **options)
        mark_parameter(made)
        return made

    @functools.wraps(move)
    def apply(self, *arguments, **options):
        moved = move(self, *arguments, **options)
        if self._parameters:
            _modules.add(self)
            mark_parameter(self._parameters)
        return moved

    torch.nn.Parameter.__new__ = new
    torch.nn.Module._apply = apply


def watch_autograd(torch: ModuleType) -> None:
    """Gradients when backward is through; what the program's own functions save."""
    backward, save = torch.autograd.graph._engine_run_backward, torch.autograd.function.FunctionCtx.save_for_backward

    @functools.wraps(backward)
    def run_backward(*arguments, **options):
        result = backward(*arguments, **options)
        collect()
        return result

    @functools.wraps(save)
    def save_for_backward(self, *tensors):
        save(self, *tensors)
        with uncharged():
            _library.mark(list(plain(tensors)), _library.ACTIVATION)

    torch.autograd.graph._engine_run_backward = torch.autograd._engine_run_backward = run_backward
    torch.autograd.function.FunctionCtx.save_for_backward = save_for_backward


def watch_buckets(torch: ModuleType) -> None:
    """DDP gathers gradients in buckets of its own, which nobody else can see: they are what it makes here."""
    if not hasattr(torch.distributed, "Reducer"):
        return
    reducer = torch.distributed.Reducer

    def as_gradients(stock):
        @functools.wraps(stock)
        def call(self, *arguments, **options):
            before = _library.set_part(_library.GRADIENT)
            try:
                return stock(self, *arguments, **options)
            finally:
                _library.set_part(before)

        return call

    reducer.__init__ = as_gradients(reducer.__init__)
    reducer._rebuild_buckets = as_gradients(reducer._rebuild_buckets)
