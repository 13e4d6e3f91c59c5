"""A driver that prepares a model as a graph of LiteRT, or as one for each case of a dynamic model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from nnapi.drivers.base import CacheEntry, HostMemory, Prepared, PrepareOptions
from nnapi.drivers.litert.artifact import Compiled, unpack
from nnapi.drivers.prepared import PreparedPerShapes, Shapes
from nnapi.model.model import Model

if TYPE_CHECKING:
    from nnapi.drivers.litert.lowering import Lowered
    from nnapi.formats.tflite.graph import Graph

G = TypeVar("G", bound=Prepared)


class GraphDriver(HostMemory, ABC, Generic[G]):
    """Prepared graphs have their compiled graph in ``compiled``."""

    @abstractmethod
    def compile(self, model: Model, graph: Graph, assumed: Shapes, options: PrepareOptions) -> Compiled:
        """Rewrite and write a graph; ``assumed`` are the shapes of inputs that a dynamic model tries first."""

    @abstractmethod
    def open_graph(self, model: Model, options: PrepareOptions, compiled: Compiled) -> G:
        """Prepare a compiled graph."""

    def lower(self, model: Model, shapes: Shapes | None = None) -> Lowered:
        """Lower a model for those shapes of its inputs; return the graph with the verdicts."""
        from nnapi.drivers.litert.lowering import lower_model  # on demand: a warm start saves its megabyte

        return lower_model(model, shapes)

    def prepare_graph(self, model: Model, options: PrepareOptions, assumed: Shapes, shapes: Shapes) -> G:
        """Prepare a model for ``shapes`` of its inputs."""
        return self.open_graph(model, options, self._lower_and_compile(model, options, assumed, shapes))

    def _lower_and_compile(self, model: Model, options: PrepareOptions, assumed: Shapes, shapes: Shapes) -> Compiled:
        """Return what :meth:`open_graph` takes, without the graph: it may hold copies of the constants."""
        from nnapi.lowering.lower import need_supported

        model.need_mapped()  # dynamic dimensions are known only at a run, when its files may have changed
        lowered = self.lower(model, shapes)
        need_supported(lowered.verdicts)
        return self.compile(model, lowered.graph, assumed, options)

    def prepare(self, model: Model, options: PrepareOptions) -> G | PreparedPerShapes[G]:
        from nnapi.drivers.litert.lowering import assume_shapes, is_static

        shapes = tuple(assume_shapes(model))
        make = partial(self.prepare_graph, model, options, shapes)
        return make(shapes) if is_static(model) else PreparedPerShapes(make, shapes)

    def cache_entry(self, prepared: Prepared) -> bytes | None:
        """Return the serialized graph; with dynamic dimensions, the one for the assumed dimensions."""
        compiled = getattr(getattr(prepared, "first", prepared), "compiled", None)
        return None if compiled is None else bytes(compiled.content)

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> G | PreparedPerShapes[G]:
        """Pass a serialized graph to the engine; the model is not lowered."""
        found = unpack(entry)
        graph = self.open_graph(model, options, found)
        if found.assumed is None:
            return graph
        return PreparedPerShapes(partial(self.prepare_graph, model, options, found.assumed), found.assumed, graph)
