"""Parts of a graph that are ours: nodes as one compilation, run on LiteRT's own memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi.capi._bridge import ffi
from nnapi.delegate.graph import LiteRtGraph, list_integers
from nnapi.delegate.settings import Settings
from nnapi.errors import BadDataError, NnapiError, need
from nnapi.importers.tflite.convert import Import, list_variables
from nnapi.importers.tflite.reader import Tensor
from nnapi.importers.tflite.tensors import DTYPES
from nnapi.model.model import Model
from nnapi.model.operand import Array

NAME = "litert"
"""What the models of parts are called."""


class Share(NamedTuple):
    """Nodes by their numbers, and what goes into and comes out of them, as LiteRT lists it: constants among it."""

    nodes: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @classmethod
    def of(cls, params: Any) -> Share:
        """What TfLiteDelegateParams say."""
        return cls(*map(list_integers, (params.nodes_to_replace, params.input_tensors, params.output_tensors)))


class NotOurs(Exception):
    """Some nodes cannot be ours: ``reasons`` by their numbers."""

    def __init__(self, reasons: dict[int, str]) -> None:
        super().__init__("; ".join(dict.fromkeys(reasons.values())))
        self.reasons = reasons


def convert(graph: LiteRtGraph, share: Share) -> Model:
    """Nodes as a model; NotOurs where NNAPI cannot express them."""
    graph.select(*share)
    importing = Import(graph, NAME, keeps_state=True)
    try:
        return importing.model()
    except NnapiError as error:
        told = (refusal.reason for refusal in importing.refusals if not refusal.operation.startswith("model "))
        reasons = {node.number: reason for node, reason in zip(graph.list_nodes(importing.refused), told, strict=True)}
        raise NotOurs(reasons or dict.fromkeys(share.nodes, str(error))) from error


class Part:
    """Nodes that are compiled for the shapes that the graph had when they were chosen."""

    def __init__(self, graph: LiteRtGraph, share: Share, model: Model, settings: Settings, threads: int | None) -> None:
        """NotOurs where they cannot be compiled."""
        graph.select(*share)
        nodes = graph.subgraph(0)
        states = list_variables(nodes)
        self._inputs = [graph.tensors[index] for index in (*nodes.inputs, *states)]
        self._outputs = [graph.tensors[index] for index in (*nodes.outputs, *states)]
        try:
            self.compilation = settings.compile(model, threads)
        except NnapiError as error:
            raise NotOurs(dict.fromkeys(share.nodes, str(error))) from error
        self._burst = self.compilation.burst(borrow=True)

    def check_shapes(self, context: Any) -> None:
        """BadDataError where the inputs have other shapes now. LiteRT has nodes chosen anew for those, unless it was
        told that the delegate takes what is dynamic."""
        for tensor in self._inputs:
            shape = list_integers(context.tensors[tensor.index].dims)
            told = f"{tensor} is {list(shape)}, was {list(tensor.shape)} when it was delegated"
            need(shape == tensor.shape, f"{told}: the option dynamic takes no inputs that are resized", BadDataError)

    def bind(self, context: Any) -> Callable[[], None]:
        """A run that reads and writes the tensors where they lie now."""
        given = [_view(context, tensor) for tensor in self._inputs]
        outputs = [_view(context, tensor) for tensor in self._outputs]
        memory, compute = self._burst.bind(*(array.shape for array in given))
        if len(given) != 1 or len(outputs) != 1 or given[0].dtype == np.int64:
            return lambda: _run(given, memory, compute, outputs)
        (x,), (place,), (y,) = given, memory, outputs

        def run() -> None:
            place[...] = x
            y[...] = compute()[0]

        return run

    def close(self) -> None:
        self._burst.close()
        self.compilation.close()


def _view(context: Any, tensor: Tensor) -> Array:
    """The memory of a tensor as NNAPI stores it, but for 64 bits."""
    given, dtype = context.tensors[tensor.index], DTYPES[tensor.type]
    need(given.data, f"{tensor} has no memory", BadDataError)
    return np.frombuffer(ffi.buffer(given.data, given.bytes), dtype).reshape(tensor.shape or (1,))


def _run(
    given: Sequence[Array], memory: Sequence[Array], compute: Callable[[], list[Array]], outputs: Sequence[Array]
) -> None:
    for array, place in zip(given, memory, strict=True):
        np.copyto(place, array, casting="unsafe")
        if array.dtype == np.int64:
            need(np.array_equal(place, array), "an input exceeds 32 bits", BadDataError)
    for output, result in zip(outputs, compute(), strict=True):
        output[...] = result
