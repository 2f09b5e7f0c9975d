# SPDX-License-Identifier: Apache-2.0
"""torch.cuda's streams, events, ranges and graphs: torch's general ones, which ask the simulated devices."""

import contextlib
from types import ModuleType

from .cuda_bindings import not_simulated, refusing


def install(library: ModuleType) -> None:
    import torch

    cuda = torch.cuda

    class Stream(torch.Stream):
        def __new__(cls, device=None, priority=0, **named):
            if "stream_id" in named:
                return super().__new__(cls, **named)
            present = device is None
            index = library.get_device() if present else torch.cuda._utils._get_device_index(device, optional=True)
            return super().__new__(cls, device=torch.device("cuda", index), priority=priority)

        @property
        def cuda_stream(self) -> int:
            return self.stream_id

        def __repr__(self) -> str:
            return f"<torch.cuda.Stream device={self.device} cuda_stream={self.stream_id:#x}>"

    class Event(torch.Event):
        def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
            if interprocess or external:
                raise not_simulated("an event between processes")
            return super().__new__(cls, device="cuda", enable_timing=enable_timing, blocking=blocking)

        def record(self, stream=None) -> None:
            super().record(cuda.current_stream() if stream is None else stream)

        def wait(self, stream=None) -> None:
            super().wait(cuda.current_stream() if stream is None else stream)

        def elapsed_time(self, end_event) -> float:
            return library.elapsed_time(self.event_id, end_event.event_id)

        @classmethod
        def from_ipc_handle(cls, *_):
            raise not_simulated("an event between processes")

    class ExternalStream(Stream):
        def __new__(cls, *_, **__):
            raise not_simulated("torch.cuda.ExternalStream")

    def current_stream(device=None):
        return wrap(torch.accelerator.current_stream(index_of(device)))

    def default_stream(device=None):
        here = current_stream(device)
        return Stream(stream_id=0, device_index=here.device_index, device_type=here.device_type)

    def wrap(stream):
        return Stream(stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type)

    def index_of(device):
        return cuda._utils._get_device_index(device, optional=True)

    def set_stream(stream) -> None:
        if stream is not None:
            torch.accelerator.set_stream(stream)

    def set_by_id(stream_id, device_index, device_type) -> None:
        set_stream(Stream(stream_id=stream_id, device_index=device_index, device_type=device_type))

    class StreamContext:
        """with torch.cuda.stream(s):, as torch has it: the device of the stream becomes the present one, too."""

        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            if self.stream is None:
                return
            self.before_device = library.get_device()
            library.set_device(self.stream.device_index)
            self.before = current_stream()
            set_stream(self.stream)

        def __exit__(self, *_):
            if self.stream is None:
                return
            set_stream(self.before)
            library.set_device(self.before_device)

    bindings = torch._C
    bindings._CudaStreamBase, bindings._CudaEventBase = torch.Stream, torch.Event
    bindings._cuda_setStream = set_by_id
    bindings._cuda_getCurrentStream = lambda index: _data(current_stream(index))
    bindings._cuda_getDefaultStream = lambda index: _data(default_stream(index))
    bindings._cuda_getCurrentRawStream = lambda index: current_stream(index).stream_id
    for module in (cuda, cuda.streams):
        module.Stream, module.Event, module.ExternalStream = Stream, Event, ExternalStream
    cuda.current_stream, cuda.default_stream, cuda.set_stream = current_stream, default_stream, set_stream
    cuda._set_stream_by_id = set_by_id
    cuda.StreamContext, cuda.stream = StreamContext, StreamContext
    for kind in (Stream, Event, ExternalStream):
        kind.__module__, kind.__qualname__ = "torch.cuda.streams", kind.__name__
    cuda.nvtx._nvtx = Ranges()
    install_graphs(torch)


def _data(stream) -> tuple[int, int, int]:
    return stream.stream_id, stream.device_index, stream.device_type


class Ranges:
    """NVTX: marks for a profiler that is not there."""

    rangePushA = rangePop = rangeStartA = rangeEnd = markA = deviceRangeStart = deviceRangeEnd = staticmethod(
        lambda *_: 0
    )


def install_graphs(torch) -> None:
    """A graph replays kernels without Python, which is not to be had here; callables that would become graphs run."""
    graphs = torch.cuda.graphs

    class CUDAGraph:
        def __init__(self, *_, **__):
            raise not_simulated("torch.cuda.CUDAGraph")

    def make_graphed_callables(callables, *_, **__):
        return callables

    for module in (torch.cuda, graphs):
        module.CUDAGraph, module.graph = CUDAGraph, refusing("torch.cuda.graph")
        module.make_graphed_callables = make_graphed_callables
        module.is_current_stream_capturing = lambda: False
    with contextlib.suppress(AttributeError):
        torch.cuda.graph_pool_handle = refusing("torch.cuda.graph_pool_handle()")
