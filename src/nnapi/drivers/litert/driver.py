"""The base of drivers that prepare a model as one LiteRT graph, or as one per set of input shapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from nnapi.contract.driver import CacheEntry, Prepared, PrepareOptions
from nnapi.contract.host_memory import HostMemory
from nnapi.contract.prepared import PreparedPerShapes, Shapes
from nnapi.drivers.litert.artifact import SerializedGraph, unpack
from nnapi.model.model import Model

if TYPE_CHECKING:
    from nnapi.drivers.litert.lowering import Lowered
    from nnapi.formats.tflite.graph import Graph

G = TypeVar("G", bound=Prepared)


class GraphDriver(HostMemory, ABC, Generic[G]):
    """A driver that lowers models to LiteRT graphs. Its prepared graphs have the compiled graph in ``compiled``."""

    @abstractmethod
    def compile(self, model: Model, graph: Graph, assumed: Shapes, options: PrepareOptions) -> SerializedGraph:
        """Rewrite and write a graph; ``assumed`` are the input shapes for which a dynamic model is prepared first."""

    @abstractmethod
    def open_graph(self, model: Model, options: PrepareOptions, compiled: SerializedGraph) -> G:
        """Return a prepared model for a compiled graph."""

    def lower(self, model: Model, shapes: Shapes | None = None) -> Lowered:
        """Lower a model for these input shapes; return the graph and the verdicts."""
        from nnapi.drivers.litert.lowering import lower_model  # on demand: restoring from the cache saves 1 MB

        return lower_model(model, shapes)

    def lower_variant(self, model: Model, shapes: Shapes, options: PrepareOptions) -> Lowered:
        """Lower a model to the graph of the variant in ``options``, as far as lowering differs."""
        return self.lower(model, shapes)

    def prepare_graph(self, model: Model, options: PrepareOptions, assumed: Shapes, shapes: Shapes) -> G:
        """Prepare a model for the input shapes ``shapes``; ``assumed`` are those that are prepared first."""
        return self.open_graph(model, options, self._lower_and_compile(model, options, assumed, shapes))

    def _lower_and_compile(
        self, model: Model, options: PrepareOptions, assumed: Shapes, shapes: Shapes
    ) -> SerializedGraph:
        """Return the compiled graph. The lowered graph, which may contain copies of constants, is freed first."""
        from nnapi.lowering.lower import need_supported

        model.need_mapped()  # at a run, the model's files may have changed
        lowered = self.lower_variant(model, shapes, options)
        need_supported(lowered.verdicts)
        return self.compile(model, lowered.graph, assumed, options)

    def prepare(self, model: Model, options: PrepareOptions) -> G | PreparedPerShapes[G]:
        from nnapi.drivers.litert.lowering import assume_shapes, is_static

        shapes = tuple(assume_shapes(model))
        make = partial(self.prepare_graph, model, options, shapes)
        return make(shapes) if is_static(model) else PreparedPerShapes(model, make, shapes)

    def cache_entry(self, prepared: Prepared) -> bytes | None:
        """Return the serialized graph; of a dynamic model, the one for the assumed shapes."""
        compiled = getattr(getattr(prepared, "first", prepared), "compiled", None)
        return None if compiled is None else bytes(compiled.content)

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> G | PreparedPerShapes[G]:
        """Prepare a model from its serialized graph, without lowering it."""
        found = unpack(entry)
        graph = self.open_graph(model, options, found)
        if found.assumed is None:
            return graph
        make = partial(self.prepare_graph, model, options, found.assumed)
        return PreparedPerShapes(model, make, found.assumed, graph)
