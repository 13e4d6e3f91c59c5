"""LiteRT's interpreter with XNNPACK. Concurrent runs use one interpreter each, made at first use and reused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from nnapi.contract.driver import Handle, Inference, OpenOptions, Outcome, Request
from nnapi.contract.loops import TurnLimits
from nnapi.contract.prepared import EngineTimer, check_deadline
from nnapi.drivers.litert.artifact import Engine, SerializedGraph
from nnapi.drivers.litert.quiet import hide_delegate_message
from nnapi.errors import OpFailedError, need
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.trace import Section, spans
from nnapi.trace.log import Log

if TYPE_CHECKING:
    from nnapi.trace.profile import Profile

log = Log("nnapi.Driver")

FLIP = np.array(128, np.uint8)
"""XOR mask that converts unsigned 8-bit values to signed ones and back."""
WORTH_MAPPING = 1 << 16
"""Bytes of a file from which mapping is faster than copying."""


class Program:
    """A compiled graph and what its interpreters share. With a ``model``, traces show its operations."""

    def __init__(self, compiled: SerializedGraph, model: Model | None = None) -> None:
        self.compiled, self.precision_refusal = compiled, ""
        self.limits = TurnLimits(compiled.turns)
        self._model = model

    @cached_property
    def profile(self) -> Profile[Engine] | None:
        """Return the trace profile for calls of the engine; None without a model or in float16."""
        if self._model is None or self.compiled.in_float16:
            return None
        from nnapi.drivers.litert.profiler import profile  # only for traces

        return profile(self._model, self.compiled.origins)

    def explain(self, error: Exception, native: Any) -> OpFailedError:
        """Return an error of the engine as one that names an index out of range; other errors with their message."""
        from nnapi.drivers.litert.failed_gather import find_bad_index  # only for errors

        found = None
        if self._model is not None and native is not None:
            found = find_bad_index(str(error), native, self._model, self.compiled.origins)
        return found or OpFailedError(f"LiteRT failed: {error}")


MakeInterpreter = Callable[[SerializedGraph, int], Interpreter]


class Instance:
    """One interpreter, with views of its inputs and outputs, whose addresses do not change."""

    def __init__(self, program: Program, threads: int, make: MakeInterpreter | None = None) -> None:
        """``make`` makes the interpreter of another engine; the default is XNNPACK's."""
        self._program = program
        native, views, threads = self._open_half(threads) or self._open(threads, make or _interpreter)
        content, flipped, expected, *_ = program.compiled
        loops = len(program.compiled.turns)
        count = len(views) - len(expected) - loops
        inputs, outputs = views[:count], views[count:]
        self._engine = Engine(content, native, inputs, outputs, threads)
        self._turns, self._turns_left = inputs[count - loops :], outputs[len(expected) :]
        inputs, outputs = inputs[: count - loops], outputs[: len(expected)]
        shapes = tuple(view.shape for view in outputs)
        need(shapes == expected, f"LiteRT gives shapes {shapes}, but the model declares {expected}", OpFailedError)
        ends = [(_caller_view(view, flip), flip) for view, flip in zip([*inputs, *outputs], flipped, strict=True)]
        self._inputs, self._outputs = ends[: -len(shapes)], ends[-len(shapes) :]
        self.shapes = [view.shape for view in inputs]
        """The shapes of the inputs."""

    def _open(self, threads: int, make: MakeInterpreter) -> tuple[Any, list[Array], int]:
        interpreter = make(self._program.compiled, threads)
        native: Any = interpreter._interpreter
        if threads > 1 and _has_loose_ends(native):
            threads = 1
            interpreter = _interpreter(self._program.compiled, threads)
            native = interpreter._interpreter
        self._owner: Any = interpreter
        self._invoke = native.Invoke  # Interpreter.invoke forbids the views below
        views = [native.tensor(native, index) for index in (*native.InputIndices(), *native.OutputIndices())]
        return native, views, threads

    def _open_half(self, threads: int) -> tuple[Any, list[Array], int] | None:
        if not self._program.compiled.in_float16:
            return None
        from nnapi.drivers.litert.float16 import compile_in_float16  # on demand: it loads another library

        try:
            self._owner = model = compile_in_float16(bytes(self._program.compiled.content), threads)
        except OpFailedError as error:
            self._program.precision_refusal = str(error)
            log.warning("%s; it computes in float32", error)
            return None
        self._invoke = model.invoke
        return None, model.views, threads

    @cached_property
    def copying(self) -> Inference:
        """The function that runs and returns copies of the results."""
        return self._resolve(borrow=False)

    @cached_property
    def borrowing(self) -> Inference:
        """The function that runs and returns results that are valid until the next run."""
        return self._resolve(borrow=True)

    def open_handle(self, options: OpenOptions) -> Handle:
        """Return a handle for one run at a time."""
        inputs, call = None, None
        if options.shapes is not None and [*options.shapes] == self.shapes:
            inputs, call = self._bind() if options.bind else (None, self.borrowing if options.borrow else self.copying)
        execute = partial(self.execute, borrow=options.borrow or options.bind, measure=options.measure)
        return Handle(execute, self.open_handle, call, inputs)

    def execute(self, request: Request, *, borrow: bool = False, measure: bool = False) -> Outcome:
        check_deadline(request)
        section = self._section()
        if not measure:
            self.run(request, section)
            return Outcome(self.results(borrow))
        self.run(request, timer := EngineTimer(section))
        return Outcome(self.results(borrow), timer.nanoseconds)

    def run(self, request: Request, section: Section | EngineTimer = spans.NOTHING) -> None:
        """Copy the inputs to the interpreter and run it, in a trace section."""
        for (view, flip), array in zip(self._inputs, request.inputs, strict=True):
            if array is None or array.shape != view.shape:
                given = "omitted" if array is None else f"of shape {list(array.shape)}"
                raise OpFailedError(f"an input is {given}, the graph was made for {list(view.shape)}")
            if flip:
                np.bitwise_xor(array, FLIP, out=view)
            else:
                view[...] = array
        with section:
            if self._turns:
                self._program.limits.run(self._take_turns, request)
            else:
                self._invoke_explained()

    def _invoke_explained(self) -> None:
        try:
            self._invoke()
        except (RuntimeError, ValueError) as error:
            raise self._program.explain(error, self._engine.native) from None

    def _take_turns(self, turns: Sequence[int]) -> Sequence[int]:
        """Run, with these turns for each loop; return how many are left."""
        for view, count in zip(self._turns, turns, strict=True):
            view[0] = count
        self._invoke_explained()
        return [int(view[0]) for view in self._turns_left]

    @property
    def _invoke_once(self) -> Callable[[], Any]:
        """The call of the engine for the fast path, which has no time limit."""
        return partial(self._program.limits.run_once, self._take_turns) if self._turns else self._invoke

    def _section(self) -> Section:
        """Return the trace section for the call; an empty one if no trace is recorded."""
        profile = self._program.profile if spans.active else None
        return profile.of(self._engine) if profile else spans.NOTHING

    def _resolve(self, borrow: bool) -> Inference:
        """Return a run as one function, bound to methods of NumPy and LiteRT."""
        puts = [partial(_put_flipped, view) if flip else partial(view.__setitem__, ...) for view, flip in self._inputs]
        gets = [_getter(view, flip, borrow) for view, flip in self._outputs]
        invoke = self._invoke_once

        def several(inputs: Sequence[Array]) -> list[Array]:
            for put, array in zip(puts, inputs, strict=True):
                put(array)
            invoke()
            return [get() for get in gets]

        if (len(puts), len(gets)) != (1, 1):
            return several
        (put,), (get,) = puts, gets

        def one(inputs: Sequence[Array]) -> list[Array]:
            put(inputs[0])
            invoke()
            return [get()]

        return one

    def _bind(self) -> tuple[list[Array], Inference]:
        """Return the interpreter's input memory, or buffers if their signedness must be converted in each run."""
        inputs = [np.zeros_like(view) if flip else view for view, flip in self._inputs]
        for array in inputs:
            array.fill(0)
        ends = zip(self._inputs, inputs, strict=True)
        puts = [partial(np.bitwise_xor, array, FLIP, view) for (view, flip), array in ends if flip]
        invoke, results = self._invoke_once, [view for view, _ in self._outputs]

        def flipped(inputs: Sequence[Array]) -> list[Array]:
            for put in puts:
                put()
            invoke()
            return self.results(borrow=True)

        def same(inputs: Sequence[Array]) -> list[Array]:
            invoke()
            return results

        return inputs, flipped if any(self._program.compiled.flipped) else same

    def results(self, borrow: bool = False) -> list[Array]:
        """Return the outputs; with ``borrow``, only flipped ones are copied, others are valid until the next run."""
        return [view ^ FLIP if flip else view if borrow else view.copy() for view, flip in self._outputs]


def _put_flipped(view: Array, array: Array) -> None:
    np.bitwise_xor(array, FLIP, view)


def _getter(view: Array, flip: bool, borrow: bool) -> Callable[[], Array]:
    if flip:
        return partial(np.bitwise_xor, view, FLIP)
    return (lambda: view) if borrow else view.copy


_delegate_was_made = threading.Event()


def _interpreter(compiled: SerializedGraph, threads: int) -> Interpreter:
    content, file = compiled.content, compiled.file
    path = file.path if file and len(content) >= WORTH_MAPPING else None
    try:
        with nullcontext() if _delegate_was_made.is_set() else hide_delegate_message():
            interpreter = Interpreter(path, None if path else bytes(content), num_threads=threads)
            interpreter.allocate_tensors()
        _delegate_was_made.set()
    except (RuntimeError, ValueError) as error:
        raise OpFailedError(f"LiteRT refuses the graph: {error}") from None
    return interpreter


def _has_loose_ends(native: Any) -> bool:
    """Return whether LiteRT's own kernels compute sums of products, which are slower on several threads.

    Nodes of XNNPACK's delegate list inputs and outputs, but not the operators inside. An operator outside them has a
    result that is used, but not produced by a delegate node.
    """
    from nnapi.formats.tflite.operators import row_of  # only for several threads

    names = [native.NodeName(node) for node in range(native.NumNodes())]
    inside = [node for node, name in enumerate(names) if name == "DELEGATE"]
    taken = {int(tensor) for node in inside for tensor in native.NodeInputs(node)}
    given = {int(tensor) for node in inside for tensor in native.NodeOutputs(node)}
    outside = taken.union(map(int, native.OutputIndices()))  # grows by the inputs of operators outside
    for node, name in reversed([*enumerate(names)]):
        results = set(map(int, native.NodeOutputs(node)))
        if name != "DELEGATE" and results.isdisjoint(given) and not results.isdisjoint(outside):
            if row_of(name).sums:
                return True
            outside.update(map(int, native.NodeInputs(node)))
    return False


def _caller_view(view: Array, flip: bool) -> Array:
    """Return a view of the engine's memory with the caller's element type."""
    return view.view(np.uint8) if flip or view.dtype == np.bool_ else view
