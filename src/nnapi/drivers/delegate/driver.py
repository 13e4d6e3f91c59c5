"""The driver of a device behind a delegate, with the lowering for LiteRT."""

import hashlib
import os
from collections.abc import Sequence
from functools import partial

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import (
    ENGINE,
    Capabilities,
    DeviceInfo,
    Handle,
    OpenOptions,
    Outcome,
    PrepareOptions,
    Request,
    Verdict,
)
from nnapi.contract.prepared import CLOSED, Shapes
from nnapi.drivers.delegate.plugin import Plugin
from nnapi.drivers.delegate.probing import probe_verdicts, rewrite_for_delegate
from nnapi.drivers.litert.artifact import SerializedGraph
from nnapi.drivers.litert.compile import compile_graph
from nnapi.drivers.litert.driver import GraphDriver
from nnapi.drivers.litert.interpreter import Instance, Program
from nnapi.errors import OpFailedError, need
from nnapi.formats.tflite.graph import Graph
from nnapi.host.installed_packages import version
from nnapi.model.model import Model
from nnapi.model.operand import Array


class PreparedDelegated:
    """A graph prepared with the delegate: one interpreter, used by one run at a time."""

    def __init__(self, plugin: Plugin, compiled: SerializedGraph) -> None:
        """Make the interpreter; raise OpFailedError unless the delegate claims the whole graph."""
        self._plugin, self.compiled = plugin, compiled
        with plugin.turn:
            self._instance: Instance | None = Instance(Program(compiled), 1, self._open)

    def execute(self, request: Request, *, measure: bool = False) -> Outcome:
        with self._plugin.turn:
            return self._need_instance().execute(request, measure=measure)

    def open_handle(self, options: OpenOptions) -> Handle:
        instance = self._need_instance()
        turn, compute = self._plugin.turn, instance.copying

        def call(inputs: Sequence[Array]) -> list[Array]:
            with turn:
                self._need_instance()
                return compute(inputs)

        fits = options.shapes is not None and [*options.shapes] == instance.shapes
        execute = partial(self.execute, measure=True) if options.measure else self.execute
        return Handle(execute, self.open_handle, call if fits else None)

    def close(self) -> None:
        with self._plugin.turn:
            self._instance = None

    def _need_instance(self) -> Instance:
        if self._instance is None:
            raise OpFailedError(CLOSED)
        return self._instance

    def _open(self, compiled: SerializedGraph, threads: int) -> object:
        opened = self._plugin.open(bytes(compiled.content))
        numbers = dict.fromkeys(self.compiled.origins[node] for node in opened.left)
        told = ", ".join("a conversion" if number is None else f"#{number}" for number in numbers)
        said = opened.said and f": {opened.said}"
        need(not opened.left, f"{self._plugin.name} did not take operation {told} here{said}", OpFailedError)
        return opened.interpreter


Options = tuple[tuple[str, str], ...]


class DelegateDriver(GraphDriver[PreparedDelegated]):
    """A driver that supports the operations claimed by the delegate; LiteRT's own kernels run nothing."""

    def __init__(self, name: str, library: str, options: Options, type: DeviceTypeCode) -> None:
        self._plugin = Plugin(library, dict(options))
        self.info = DeviceInfo(name, describe_version(library, options), type, 8)

    def capabilities(self) -> Capabilities:
        return ENGINE

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return probe_verdicts(self._plugin, model, self.lower(model))

    def compile(self, model: Model, graph: Graph, assumed: Shapes, options: PrepareOptions) -> SerializedGraph:
        return compile_graph(model, rewrite_for_delegate(graph), assumed)

    def open_graph(self, model: Model, options: PrepareOptions, compiled: SerializedGraph) -> PreparedDelegated:
        return PreparedDelegated(self._plugin, compiled)


def describe_version(library: str, options: Options) -> str:
    """Return a version string from the library's digest, its options and LiteRT's version; caches depend on it."""
    digest = hashlib.sha256(repr(options).encode())
    with open(library, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return f"{os.path.basename(library)} {digest.hexdigest()[:12]}, LiteRT {version('ai-edge-litert')}"
