"""Partitions that the delegate claims: nodes compiled together, run on LiteRT's memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from nnapi.capi._bridge import ffi
from nnapi.delegate.compiled import Compiled, Run
from nnapi.delegate.graph import LiteRtGraph, list_integers
from nnapi.delegate.restarting import Restarting
from nnapi.delegate.settings import Settings
from nnapi.drivers.workload import find_work
from nnapi.errors import BadDataError, NnapiError, need
from nnapi.formats.tflite.reader import Tensor
from nnapi.importers.tflite.convert import Import, list_variables
from nnapi.importers.tflite.tensors import TYPES
from nnapi.model.borrowed import BorrowedMemory
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.device import Device

NAME = "litert"


LEAST_WORK = 10_000
"""Multiply-accumulates plus bytes below which the call of a partition, 1 to 4 µs, costs more than it saves."""


class NodeSubset(NamedTuple):
    """The numbers of nodes, and their inputs and outputs as LiteRT lists them, with constants."""

    nodes: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @classmethod
    def of(cls, params: Any) -> NodeSubset:
        """Read TfLiteDelegateParams."""
        return cls(*map(list_integers, (params.nodes_to_replace, params.input_tensors, params.output_tensors)))


class NotClaimed(Exception):
    """Some nodes cannot be claimed: ``reasons`` by number."""

    def __init__(self, reasons: dict[int, str]) -> None:
        super().__init__("; ".join(dict.fromkeys(reasons.values())))
        self.reasons = reasons


def convert(graph: LiteRtGraph, subset: NodeSubset, *, keeps_state: bool = True) -> Model:
    """Convert nodes to a model; NotClaimed where NNAPI cannot express them. With ``keeps_state``, states follow the
    inputs and outputs, else each run resets them."""
    graph.select(*subset)
    importing = Import(graph, NAME, keeps_state=keeps_state)
    try:
        return importing.model()
    except NnapiError as error:
        found = (refusal.reason for refusal in importing.refusals if not refusal.operation.startswith("model "))
        reasons = {node.number: reason for node, reason in zip(graph.list_nodes(importing.refused), found, strict=True)}
        raise NotClaimed(reasons or dict.fromkeys(subset.nodes, str(error))) from error


def check_work(subset: NodeSubset, model: Model) -> None:
    """Raise NotClaimed for a partition with less work than its call costs."""
    work = [find_work(model, call) for call in model.operations]
    if sum(each.macs + each.nbytes for each in work) < LEAST_WORK:
        reason = "the call of so small a partition costs more than LiteRT's kernels"
        raise NotClaimed(dict.fromkeys(subset.nodes, reason))


def check_speed(graph: LiteRtGraph, subset: NodeSubset, part: Partition, engines: Sequence[Device]) -> None:
    """Raise NotClaimed with the nodes that only the reference supports: LiteRT is faster."""
    if not engines or part.runs_only_on(engines):
        return
    slow = {}
    for node in graph.nodes:
        if node.number in subset.nodes:
            alone = NodeSubset((node.number,), node.inputs, node.outputs)
            with suppress(NotClaimed):  # what depends on what is around it
                if not all(convert(graph, alone).supported_operations(engines)):
                    slow[node.number] = "of all devices only the reference takes it"
    if slow:
        raise NotClaimed(slow)


class Partition:
    """Nodes compiled for the shapes of the graph when they were chosen."""

    def __init__(
        self, graph: LiteRtGraph, subset: NodeSubset, model: Model, settings: Settings, threads: int | None
    ) -> None:
        """``model`` is the result of :func:`convert`. NotClaimed if compilation fails."""
        graph.select(*subset)
        nodes = graph.subgraph(0)
        variables = list_variables(nodes)
        self._inputs = [graph.tensors[index] for index in nodes.inputs]
        self._outputs = [graph.tensors[index] for index in nodes.outputs]
        self._states = [graph.tensors[index] for index in variables]
        self._ready: Compiled | Restarting
        self._memory = BorrowedMemory()
        model.borrowed = self._memory
        try:
            if variables and not graph.uses_outside(variables, subset.nodes):
                stateless = convert(graph, subset, keeps_state=False)
                stateless.borrowed = self._memory
                fresh = Compiled(settings.compile(stateless, threads))
                zero_points = [int((*tensor.zero_points, 0)[0]) for tensor in self._states]
                self._ready = Restarting(fresh, lambda: Compiled(settings.compile(model, threads)), zero_points)
            else:
                self._ready = Compiled(settings.compile(model, threads))
        except NnapiError as error:
            self._memory.revoke()
            raise NotClaimed(dict.fromkeys(subset.nodes, str(error))) from error

    def runs_only_on(self, engines: Sequence[Device]) -> bool:
        """Return whether those devices compute all of it."""
        return {each.name for each in self._ready.compilation.devices} <= {each.name for each in engines}

    def explain(self) -> str:
        return self._ready.compilation.explain()

    def check_shapes(self, context: Any) -> None:
        """Raise BadDataError if input shapes have changed. LiteRT prepares the graph again then, except with the option
        ``dynamic``."""
        for tensor in self._inputs:
            shape = list_integers(context.tensors[tensor.index].dims)
            change = f"{tensor} is {list(shape)}, was {list(tensor.shape)} when it was delegated"
            need(shape == tensor.shape, f"{change}: the option dynamic takes no inputs that are resized", BadDataError)

    def bind(self, context: Any) -> Run:
        """Return a run on the tensors at their present addresses."""
        inputs, outputs, states = (
            [_view(context, tensor) for tensor in tensors] for tensors in (self._inputs, self._outputs, self._states)
        )
        if isinstance(self._ready, Restarting):
            return self._ready.bind(inputs, states, outputs)
        return self._ready.bind([*inputs, *states], [*outputs, *states])

    def close(self) -> None:
        """Stop reading LiteRT's memory: the interpreter is about to be freed."""
        self._memory.revoke()
        self._ready.close()


def _view(context: Any, tensor: Tensor) -> Array:
    """View the memory of a tensor as NNAPI stores it, except for 64 bits."""
    given, (dtype, _) = context.tensors[tensor.index], TYPES[tensor.type]
    need(given.data, f"{tensor} has no memory", BadDataError)
    return np.frombuffer(ffi.buffer(given.data, given.bytes), dtype).reshape(tensor.shape or (1,))
