"""A compiled subgraph of a .tflite file, run by a burst with the inputs and outputs that LiteRT describes."""

import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nnapi.errors import BadDataError, NnapiError, need
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.restarting import Restarting, StatefulRun, copy_to
from nnapi.runtime.behind_runs import do_behind_runs
from nnapi.runtime.burst import Burst
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.feedback import Feedback
from nnapi.trace.log import Log

log = Log("nnapi.CompilationBuilder")


class TensorDetails(NamedTuple):
    """A tensor as LiteRT describes it: index, dtype, shape, zero point and name."""

    number: int
    dtype: np.dtype[Any]
    shape: Shape
    zero_point: int = 0
    name: str = "an input"


BOOL, COMPLEX = np.dtype(np.bool_), np.dtype(np.complex64)
WIDE = frozenset({np.dtype(np.int64), np.dtype(np.uint32)})
"""Integers that NNAPI stores as int32."""


class CompiledSubgraph:
    """A compilation with LiteRT's inputs and outputs.

    ``inputs`` are the arrays that a run reads, by tensor index. ``run`` returns the outputs, which are valid until the
    next run. ``positions`` maps a tensor's index to its position among the outputs.
    """

    def __init__(
        self,
        compilation: Compilation,
        inputs: Sequence[TensorDetails],
        outputs: Sequence[TensorDetails],
        burst: Burst | None = None,
    ) -> None:
        """``burst`` runs the compilation, by default a new one."""
        self.compilation = compilation
        self.positions = {tensor.number: position for position, tensor in enumerate(outputs)}
        own = compilation.model.outputs[: len(outputs)]  # states follow
        types = [compilation.model.operands[index].type for index in own]
        self.results: list[Array] = [
            np.zeros(_infer_shape(tensor, type), tensor.dtype) for tensor, type in zip(outputs, types, strict=True)
        ]
        self._burst = compilation.burst(borrow=True) if burst is None else burst
        taken = {tensor.number: tensor for tensor in inputs}
        held = (compilation.model.operands[index].type for index in compilation.model.inputs)
        shapes = [_stored_shape(tensor, type) for tensor, type in zip(taken.values(), held, strict=False)]
        memory, run_stored = self._burst.bind(*shapes)
        ends = zip(memory, taken.values(), strict=True)
        self.inputs = dict(zip(taken, (_describe_memory(*end) for end in ends), strict=True))
        self.run = self._resolve(memory, list(taken.values()), outputs, run_stored)

    @property
    def devices(self) -> set[str]:
        """Return the names of the devices that run the subgraph."""
        return {device.name for device in self.compilation.devices}

    def reset(self) -> None:
        """Do nothing: the graph has no variable tensors, and LiteRT does not reset resource variables."""

    def explain(self) -> str:
        return self.compilation.explain()

    def close(self) -> None:
        self._burst.close()
        self.compilation.close()

    def _resolve(
        self,
        memory: Sequence[Array],
        inputs: Sequence[TensorDetails],
        outputs: Sequence[TensorDetails],
        run_stored: Callable[[], list[Array]],
    ) -> Callable[[], list[Array]]:
        """Return the function for a run: the burst's own if no input or output needs conversion."""
        ends = zip(self.inputs.values(), memory, inputs, strict=True)
        wide = [(array, narrow, tensor.name) for array, narrow, tensor in ends if array.dtype in WIDE]
        is_same = all(tensor.shape and tensor.dtype not in (*WIDE, BOOL, COMPLEX) for tensor in outputs)
        if is_same and not wide:
            return run_stored
        return partial(_run_otherwise, run_stored, wide, outputs)


def _run_otherwise(
    run_stored: Callable[[], list[Array]], wide: Sequence[tuple[Array, Array, str]], outputs: Sequence[TensorDetails]
) -> list[Array]:
    for array, narrow, name in wide:
        np.copyto(narrow, array.reshape(narrow.shape), casting="unsafe")
        need(np.array_equal(narrow.reshape(array.shape), array), f"{name} holds integers beyond int32", BadDataError)
    return [_as_described(result, tensor) for result, tensor in zip(run_stored(), outputs, strict=True)]


def _infer_shape(tensor: TensorDetails, type: OperandType) -> Shape:
    """Return an output's shape: the model's, which follows from its operations, unless the tensor is a scalar."""
    shape = type.dimensions if tensor.shape and type.is_known else tensor.shape
    return shape[:-1] if tensor.dtype == COMPLEX and shape is type.dimensions else shape


def _stored_shape(tensor: TensorDetails, type: OperandType) -> Shape:
    """Return the shape of an input's memory: the operand's, if the importer has merged axes. The last axis of complex
    numbers has their two parts."""
    shape = (*tensor.shape, 2) if tensor.dtype == COMPLEX else tensor.shape or (1,)
    return type.dimensions if type.rank and type.rank < len(shape) else shape


def _describe_memory(memory: Array, tensor: TensorDetails) -> Array:
    """Return a view of an input's memory in LiteRT's dtype and shape; a new array for integers that may not fit."""
    if tensor.dtype in WIDE:
        return np.zeros(tensor.shape, tensor.dtype)
    return memory.view(tensor.dtype).reshape(tensor.shape)


def _as_described(result: Array, tensor: TensorDetails) -> Array:
    """Convert an output to LiteRT's dtype and shape."""
    if tensor.dtype == COMPLEX:
        result = result.view(COMPLEX).reshape(result.shape[:-1])
    elif tensor.dtype == np.bool_:
        result = result.view(np.bool_)
    elif result.dtype != tensor.dtype:
        result = result.astype(tensor.dtype)
    return result.reshape(()) if not tensor.shape and result.size == 1 else result


class ContinuingGraph:
    """A subgraph whose last inputs and outputs are its states; each run continues from those of the run before."""

    def __init__(self, graph: CompiledSubgraph, states: Sequence[TensorDetails]) -> None:
        self._graph = graph
        self._states = [(graph.inputs[state.number], state.zero_point) for state in states]
        numbers = {state.number for state in states}
        self.inputs = {index: array for index, array in graph.inputs.items() if index not in numbers}
        own = len(graph.results) - len(states)
        self.positions = {index: position for index, position in graph.positions.items() if position < own}
        self.results = graph.results[:own]
        self._feedback = Feedback([array for array, _ in self._states])
        self.reset()

    @property
    def devices(self) -> set[str]:
        return self._graph.devices

    def reset(self) -> None:
        for array, zero_point in self._states:
            array.fill(zero_point)

    def run(self) -> list[Array]:
        return self._feedback.take(self._graph.run())

    def explain(self) -> str:
        return self._graph.explain()

    def close(self) -> None:
        self._graph.close()


MANY_RESETS, RESETTING = 8, 1.0
"""Runs in a row, and seconds, after which a program is known to reset the states before each run."""


class RestartingGraph:
    """A subgraph with states, which ``stateful`` runs. If the program resets them before each run, ``make_fresh`` makes
    a graph that begins at reset states, behind the runs: its integer cells are faster."""

    def __init__(self, stateful: ContinuingGraph, make_fresh: Callable[[], CompiledSubgraph]) -> None:
        self._stateful, self._make_fresh = stateful, make_fresh
        self._fresh: CompiledSubgraph | None = None
        self._is_reset, self._is_making, self._is_closed = True, False, False
        self._resets, self._since = 0, 0.0
        """The number of runs in a row that followed a reset, and the time of the first of them."""
        self.inputs, self.positions, self.results = stateful.inputs, stateful.positions, stateful.results
        self._runs = Restarting[list[Array]]()

    @property
    def devices(self) -> set[str]:
        return self._stateful.devices

    def reset(self) -> None:
        self._is_reset = True

    def explain(self) -> str:
        return self._stateful.explain()

    def close(self) -> None:
        self._is_closed = True
        self._stateful.close()
        if self._fresh is not None:
            self._fresh.close()

    def run(self) -> list[Array]:
        is_reset, self._is_reset = self._is_reset, False
        if self._fresh is not None:
            return self._runs.run(is_reset=is_reset)
        if is_reset:
            self._stateful.reset()
            self._note_reset()
        else:
            self._resets = 0
        return self._stateful.run()

    def _note_reset(self) -> None:
        now = time.perf_counter()
        self._since = self._since if self._resets else now
        self._resets += 1
        if self._resets > MANY_RESETS and now >= self._since + RESETTING and not self._is_making:
            self._is_making = True
            do_behind_runs(partial(_make_fresh, weakref.ref(self), self._make_fresh))

    def use_fresh(self, fresh: CompiledSubgraph) -> None:
        """Run ``fresh`` after resets, from the next run on."""
        stateful = StatefulRun(self._stateful.reset, self._stateful.run)
        self._runs.bind([*self.inputs.values()], partial(_run_on, fresh, self.inputs), lambda: stateful)
        self._fresh = fresh
        if self._is_closed:
            fresh.close()


def _make_fresh(user: "weakref.ref[RestartingGraph]", make: Callable[[], CompiledSubgraph]) -> None:
    """Make a graph for runs after resets; close it if its user is gone."""
    try:
        fresh = make()
    except NnapiError as error:
        log.info("no graph for runs after resets: %s", error)
        return
    if graph := user():
        graph.use_fresh(fresh)
    else:
        fresh.close()


def _run_on(graph: CompiledSubgraph, given: Mapping[int, Array]) -> list[Array]:
    copy_to([graph.inputs[index] for index in given], given.values())
    return graph.run()
