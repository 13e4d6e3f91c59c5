"""The driver of the GPU. It runs in a process of its own, because the accelerator may end its process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import (
    Capabilities,
    DeviceInfo,
    Handle,
    OpenOptions,
    Outcome,
    Performance,
    PrepareOptions,
    Request,
    Verdict,
)
from nnapi.contract.prepared import CLOSED, EngineTimer, Shapes, check_deadline
from nnapi.drivers.litert.artifact import SerializedGraph, cut_facts
from nnapi.drivers.litert.driver import GraphDriver
from nnapi.errors import OpFailedError
from nnapi.host.installed_packages import version
from nnapi.model.model import Model

if TYPE_CHECKING:
    from nnapi.drivers.litert.lowering import Lowered
    from nnapi.formats.tflite.graph import Graph

GPU = Capabilities(
    Performance(0.005, 0.02), relaxed=Performance(0.004, 0.02), launch_seconds=4e-4, seconds_per_byte=5e-10
)
"""Capabilities of a GPU: fast, once inputs are transferred. A run of a small model took 0.8 ms on an H100."""
SOFTWARE = Capabilities(
    Performance(20.0, 20.0), relaxed=Performance(20.0, 20.0), launch_seconds=0.05, seconds_per_byte=1e-8
)
"""Capabilities of Vulkan on the CPU, which is slower than the CPU reference."""


class WebGpuDriver(GraphDriver["PreparedModel"]):
    """The driver of a GPU; ``adapter`` is the GPU's name in Vulkan."""

    isolated = True
    travels = True
    """Whether the process gets this object, so that it need not search for an adapter."""
    patience: ClassVar[float] = 900.0
    """Seconds, for compiling shaders in several starts, after which the process is considered to hang."""

    def __init__(self, adapter: str, is_software: bool = False) -> None:
        engine = f"LiteRT {version('ai-edge-litert')}"
        self.info = DeviceInfo("webgpu", f"{engine}, {adapter}", DeviceTypeCode.DEVICE_GPU, 8)
        self.is_software = self.is_by_name = is_software
        """Whether the adapter is Vulkan on the CPU, which is for tests and used only by name."""

    def capabilities(self) -> Capabilities:
        return SOFTWARE if self.is_software else GPU

    def lower(self, model: Model, shapes: Shapes | None = None) -> Lowered:
        from nnapi.drivers.litert.lowering import lower_model
        from nnapi.drivers.webgpu.lowering import WebGpuLowering

        return lower_model(model, shapes, WebGpuLowering)

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return self.lower(model).verdicts

    def compile(self, model: Model, graph: Graph, assumed: Shapes, options: PrepareOptions) -> SerializedGraph:
        from nnapi.drivers.litert.compile import compile_graph
        from nnapi.drivers.webgpu.lowering import write_graph

        return compile_graph(model, graph, assumed, in_float16=model.relaxed, write=write_graph)

    def open_graph(self, model: Model, options: PrepareOptions, compiled: SerializedGraph) -> PreparedModel:
        return PreparedModel(compiled)


class PreparedModel:
    """A model on the accelerator, with buffers for inputs and outputs. One run at a time."""

    def __init__(self, compiled: SerializedGraph) -> None:
        from nnapi.drivers.webgpu.engine import Instance  # on demand: not before the first model

        self.compiled = compiled
        self._instance: Instance | None = Instance(cut_facts(compiled), compiled.flipped, compiled.in_float16)

    def execute(self, request: Request, *, measure: bool = False) -> Outcome:
        check_deadline(request)
        instance = self._instance
        if instance is None:
            raise OpFailedError(CLOSED)
        timer = EngineTimer() if measure else None
        return Outcome(instance.run(request.inputs, timer), timer.nanoseconds if timer else None)

    def open_handle(self, options: OpenOptions) -> Handle:
        return Handle(partial(self.execute, measure=True) if options.measure else self.execute, self.open_handle)

    def close(self) -> None:
        self._instance = None
