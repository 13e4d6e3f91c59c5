"""Partitions that the delegate claims: nodes that are compiled together and run on LiteRT's tensor memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from nnapi.capi._bridge import ffi, lib
from nnapi.contract.shape_cache import ShapeCache, estimate_size
from nnapi.contract.workload import find_work
from nnapi.delegate.compiled import CompiledPartition, CompiledWithStates, Run
from nnapi.delegate.graph import LiteRtGraph, list_integers
from nnapi.delegate.settings import DelegateSettings
from nnapi.errors import BadDataError, NnapiError, OpFailedError, need
from nnapi.formats.tflite.reader import Tensor
from nnapi.importers.tflite.convert import Import
from nnapi.importers.tflite.tensors import COMPLEX, TYPES
from nnapi.importers.tflite.variables import list_variables
from nnapi.model.borrowed_memory import BorrowedMemory
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.runtime.device import Device

NAME = "litert"
LEAST_WORK = 10_000
"""Sum of multiply-accumulates and bytes. A partition with less saves less time than its call takes, 1 to 4 µs."""


class NodeSubset(NamedTuple):
    """Numbers of nodes, and indices of their inputs and outputs; ``inputs`` include constants, as in LiteRT's lists."""

    nodes: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @classmethod
    def of(cls, params: Any) -> NodeSubset:
        """Return the subset that a TfLiteDelegateParams describes."""
        return cls(*map(list_integers, (params.nodes_to_replace, params.input_tensors, params.output_tensors)))


class Ready(NamedTuple):
    """A compiled partition and the shapes of its outputs."""

    compiled: CompiledPartition | CompiledWithStates
    shapes: list[Shape]


class NotClaimed(Exception):
    """Raised if nodes cannot be claimed; ``reasons`` maps each node's number to the reason."""

    def __init__(self, reasons: dict[int, str]) -> None:
        super().__init__("; ".join(dict.fromkeys(reasons.values())))
        self.reasons = reasons


def convert(graph: LiteRtGraph, subset: NodeSubset, *, keeps_state: bool = True) -> Model:
    """Convert nodes to a model; raise NotClaimed if NNAPI cannot express them. With ``keeps_state``, states are
    additional inputs and outputs; else each run resets them."""
    graph.select(*subset)
    _need_real_ends(graph)
    importing = Import(graph, NAME, keeps_state=keeps_state, dynamic_range=True, static_shapes=True)
    try:
        return importing.model()
    except NnapiError as error:
        found = (refusal.reason for refusal in importing.refusals if not refusal.operation.startswith("model "))
        reasons = {node.number: reason for node, reason in zip(graph.list_nodes(importing.refused), found, strict=True)}
        raise NotClaimed(reasons or dict.fromkeys(subset.nodes, str(error))) from error


def _need_real_ends(graph: LiteRtGraph) -> None:
    """Raise NotClaimed with the nodes that exchange complex numbers with others, because memory is shared as it is."""
    nodes = graph.subgraph(0)
    ends = {index for index in (*nodes.inputs, *nodes.outputs) if graph.tensors[index].type == COMPLEX}
    if ends:
        users = graph.list_nodes(
            [each for each in nodes.operators if not ends.isdisjoint([*each.inputs, *each.outputs])]
        )
        raise NotClaimed({node.number: "it exchanges complex numbers with LiteRT" for node in users})


def need_enough_work(subset: NodeSubset, model: Model) -> None:
    """Raise NotClaimed if a partition has less work than its call costs."""
    work = [find_work(model, call) for call in model.operations]
    if sum(each.macs + each.nbytes for each in work) < LEAST_WORK:
        reason = "the call of so small a partition costs more than LiteRT's kernels"
        raise NotClaimed(dict.fromkeys(subset.nodes, reason))


def need_fast_engines(graph: LiteRtGraph, subset: NodeSubset, part: Partition, engines: Sequence[Device]) -> None:
    """Raise NotClaimed with the nodes that only the reference device supports, since LiteRT is faster."""
    if not engines or part.runs_only_on(engines):
        return
    slow = {}
    for node in graph.nodes:
        if node.number in subset.nodes:
            alone = NodeSubset((node.number,), node.inputs, node.outputs)
            with suppress(NotClaimed):  # a node that cannot be converted alone
                if not all(convert(graph, alone).supported_operations(engines)):
                    slow[node.number] = "of all devices only the reference takes it"
    if slow:
        raise NotClaimed(slow)


class Partition:
    """Nodes compiled for shapes of their inputs: when they are chosen, and again when the inputs are resized."""

    def __init__(
        self, graph: LiteRtGraph, subset: NodeSubset, model: Model, settings: DelegateSettings, threads: int | None
    ) -> None:
        """Compile ``model``, the result of :func:`convert`; raise NotClaimed if that fails."""
        self._graph, self._subset, self._settings, self._threads = graph, subset, settings, threads
        graph.select(*subset)
        nodes = graph.subgraph(0)
        self._inputs = [graph.tensors[index] for index in nodes.inputs]
        self._outputs = [graph.tensors[index] for index in nodes.outputs]
        self._states = [graph.tensors[index] for index in list_variables(nodes)]
        self._custom = {index for node in nodes.operators if node.kind.startswith("CUSTOM") for index in node.outputs}
        self._memory = BorrowedMemory()
        self._compiled = ShapeCache[tuple[Shape, ...], Ready](_estimate)
        try:
            self._ready = self._compile(model, tuple(tensor.shape for tensor in self._inputs))
        except NotClaimed:
            self._memory.revoke()
            raise

    def _compile(self, model: Model, shapes: tuple[Shape, ...]) -> Ready:
        """Compile a model for input shapes and cache the result; raise NotClaimed if that fails."""
        results = [model.operands[index].type.dimensions for index in model.outputs[: len(self._outputs)]]
        model.borrowed = self._memory
        ready: CompiledPartition | CompiledWithStates
        try:
            if self._states and not self._graph.uses_outside([each.index for each in self._states], self._subset.nodes):
                stateless = convert(self._graph, self._subset, keeps_state=False)
                stateless.borrowed = self._memory
                fresh = CompiledPartition(self._settings.compile(stateless, self._threads))
                zero_points = [int((*tensor.zero_points, 0)[0]) for tensor in self._states]
                settings, threads = self._settings, self._threads
                make_stateful = lambda: CompiledPartition(settings.compile(model, threads))  # noqa: E731
                ready = CompiledWithStates(fresh, make_stateful, zero_points)
            else:
                ready = CompiledPartition(self._settings.compile(model, self._threads))
        except NnapiError as error:
            raise NotClaimed(dict.fromkeys(self._subset.nodes, str(error))) from error
        made = Ready(ready, results)
        for old in self._compiled.keep(shapes, made):
            old.compiled.close()
        return made

    def runs_only_on(self, engines: Sequence[Device]) -> bool:
        """Return whether the partition runs only on these devices."""
        return {each.name for each in self._ready.compiled.compilation.devices} <= {each.name for each in engines}

    def explain(self) -> str:
        return self._ready.compiled.compilation.explain()

    def prepare(self, context: Any) -> None:
        """Select or make the compilation for the inputs' current shapes, and resize the outputs. Raise BadDataError if
        NNAPI cannot express these shapes."""
        shapes = tuple(list_integers(context.tensors[tensor.index].dims) for tensor in self._inputs)
        ready = self._compiled.get(shapes)
        if ready is None:
            for tensor, shape in zip(self._inputs, shapes, strict=True):
                need(0 not in shape, f"{tensor} has no elements: it is {list(shape)}", BadDataError)
            self._graph.resize({each.index: shape for each, shape in zip(self._inputs, shapes, strict=True)})
            try:
                ready = self._compile(convert(self._graph, self._subset), shapes)
            except NotClaimed as error:
                resized = ", ".join(f"{each} {list(shape)}" for each, shape in zip(self._inputs, shapes, strict=True))
                raise BadDataError(f"the claimed operators do not take {resized}: {error}") from error
        self._ready = ready
        for tensor, shape in zip(self._outputs, self._ready.shapes, strict=True):
            given = list_integers(context.tensors[tensor.index].dims)
            is_scalar = given == () and shape == (1,) and tensor.index not in self._custom
            if given != shape and not is_scalar:
                _resize(context, tensor, shape)

    def bind(self, context: Any) -> Run:
        """Return a function that runs on the tensors' current memory."""
        inputs, outputs, states = (
            [_view(context, tensor) for tensor in tensors] for tensors in (self._inputs, self._outputs, self._states)
        )
        return self._ready.compiled.bind(inputs, states, outputs)

    def close(self) -> None:
        """Close all compilations, and stop reading LiteRT's memory, since the interpreter is about to be freed."""
        self._memory.revoke()
        for ready in self._compiled.clear():
            ready.compiled.close()


def _estimate(shapes: tuple[Shape, ...], ready: Ready) -> int:
    return estimate_size(ready.compiled.compilation.model, shapes)


def _resize(context: Any, tensor: Tensor, shape: Shape) -> None:
    """Resize a tensor with ResizeTensor, as an operator's Prepare does; LiteRT frees the array of dimensions."""
    need(0 not in shape, f"the shape of {tensor} is known only when it runs", BadDataError)
    wanted = ffi.cast("TfLiteIntArray*", lib.malloc(4 * (len(shape) + 1)))
    wanted.size = len(shape)
    wanted.data[0 : len(shape)] = shape
    need(
        not context.ResizeTensor(context, context.tensors + tensor.index, wanted),
        f"{tensor} is not resized",
        OpFailedError,
    )


def _view(context: Any, tensor: Tensor) -> Array:
    """Return a view of a tensor's memory in NNAPI's element type, except for 64-bit integers."""
    given, (dtype, _) = context.tensors[tensor.index], TYPES[tensor.type]
    need(given.data, f"{tensor} has no memory", BadDataError)
    return np.frombuffer(ffi.buffer(given.data, given.bytes), dtype).reshape(list_integers(given.dims) or (1,))
