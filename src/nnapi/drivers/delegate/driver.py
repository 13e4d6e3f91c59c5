"""The driver of a device behind a delegate, with the lowering for LiteRT."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from nnapi.codes import DeviceTypeCode
from nnapi.drivers.base import (
    ENGINE,
    CacheEntry,
    Capabilities,
    DeviceInfo,
    HostMemory,
    Prepared,
    PrepareOptions,
    Verdict,
)
from nnapi.drivers.delegate.plugin import Plugin
from nnapi.drivers.delegate.prepared import PreparedDelegated
from nnapi.drivers.delegate.probing import judge, rewrite
from nnapi.drivers.installed import version
from nnapi.drivers.litert.artifact import unpack
from nnapi.drivers.litert.compile import compile_graph
from nnapi.drivers.litert.lowering import assume_shapes, is_static, lower_model
from nnapi.drivers.prepared import PreparedPerShapes
from nnapi.lowering.lower import need_supported
from nnapi.model.model import Model
from nnapi.model.operand import Shape

Options = tuple[tuple[str, str], ...]


class DelegateDriver(HostMemory):
    """Supports the operations that the delegate claims: LiteRT itself computes nothing."""

    def __init__(self, name: str, library: str, options: Options, type: DeviceTypeCode) -> None:
        self._plugin = Plugin(library, dict(options))
        self.info = DeviceInfo(name, describe_version(library, options), type, 8)

    def capabilities(self) -> Capabilities:
        return ENGINE

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return judge(self._plugin, model, lower_model(model))

    def prepare(
        self, model: Model, options: PrepareOptions
    ) -> PreparedDelegated | PreparedPerShapes[PreparedDelegated]:
        shapes = assume_shapes(model)
        if is_static(model):
            return self._prepare_graph(model, shapes, shapes)
        return PreparedPerShapes(lambda given: self._prepare_graph(model, given, shapes), tuple(shapes))

    def cache_entry(self, prepared: Prepared) -> bytes | None:
        """Return the graph as a file, for the assumed dimensions where the model has dynamic ones."""
        graph = prepared.first if isinstance(prepared, PreparedPerShapes) else prepared
        return bytes(graph.compiled.content) if isinstance(graph, PreparedDelegated) else None

    def restore(
        self, model: Model, entry: CacheEntry, options: PrepareOptions
    ) -> PreparedDelegated | PreparedPerShapes[PreparedDelegated]:
        """Pass a cached graph to the delegate without reading the model."""
        found = unpack(entry)
        graph = PreparedDelegated(self._plugin, found)
        if found.assumed is None:
            return graph
        shapes = tuple(found.assumed)
        return PreparedPerShapes(lambda given: self._prepare_graph(model, given, shapes), shapes, graph)

    def _prepare_graph(
        self, model: Model, shapes: Sequence[Shape | None], assumed: Sequence[Shape | None]
    ) -> PreparedDelegated:
        model.need_mapped()  # some dimensions are known at a run only, and its files may have changed by then
        lowered = lower_model(model, shapes)
        need_supported(lowered.verdicts)
        return PreparedDelegated(self._plugin, compile_graph(model, rewrite(lowered.graph), assumed))


def describe_version(library: str, options: Options) -> str:
    """Return the version of a delegate, for which cached facts of the device are valid."""
    digest = hashlib.sha256(repr(options).encode())
    with open(library, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return f"{os.path.basename(library)} {digest.hexdigest()[:12]}, LiteRT {version('ai-edge-litert')}"
