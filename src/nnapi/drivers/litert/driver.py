"""A driver that prepares a model as a graph of LiteRT, or as one for each case of a dynamic model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, Generic, TypeVar

from nnapi.drivers.base import CacheEntry, HostMemory, Prepared, PrepareOptions
from nnapi.drivers.litert.artifact import unpack
from nnapi.drivers.prepared import PreparedPerShapes, Shapes
from nnapi.model.model import Model

G = TypeVar("G", bound=Prepared)


class GraphDriver(HostMemory, ABC, Generic[G]):
    """Prepared graphs have their compiled graph in ``compiled``."""

    @abstractmethod
    def prepare_graph(self, model: Model, options: PrepareOptions, assumed: Shapes, shapes: Shapes) -> G:
        """Lower a model for ``shapes`` of its inputs; ``assumed`` are those that a dynamic model tries first."""

    @abstractmethod
    def open_graph(self, model: Model, options: PrepareOptions, compiled: Any) -> G:
        """Prepare a compiled graph."""

    def pack(self, compiled: Any) -> bytes:
        return bytes(compiled.content)

    def unpack(self, entry: CacheEntry) -> Any:
        """Return the compiled graph of an entry; ValueError for another version."""
        return unpack(entry)

    def prepare(self, model: Model, options: PrepareOptions) -> G | PreparedPerShapes[G]:
        from nnapi.drivers.litert.lowering import assume_shapes, is_static  # a megabyte that a warm start saves

        shapes = tuple(assume_shapes(model))
        make = partial(self.prepare_graph, model, options, shapes)
        return make(shapes) if is_static(model) else PreparedPerShapes(make, shapes)

    def cache_entry(self, prepared: Prepared) -> bytes | None:
        """Return the serialized graph; with dynamic dimensions, the one for the assumed dimensions."""
        compiled = getattr(getattr(prepared, "first", prepared), "compiled", None)
        return None if compiled is None else self.pack(compiled)

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> G | PreparedPerShapes[G]:
        """Pass a serialized graph to the engine; the model is not lowered."""
        found = self.unpack(entry)
        graph = self.open_graph(model, options, found)
        if found.assumed is None:
            return graph
        return PreparedPerShapes(partial(self.prepare_graph, model, options, found.assumed), found.assumed, graph)
