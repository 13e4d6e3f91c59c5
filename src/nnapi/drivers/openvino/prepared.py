"""A model compiled by OpenVINO, and the inference requests that run it."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from nnapi.contract.driver import Handle, OpenOptions, Outcome, Request
from nnapi.contract.loops import TurnLimits
from nnapi.contract.prepared import EngineTimer, Pool, check_deadline
from nnapi.contract.profiling import correct_seconds, operation_section
from nnapi.drivers.openvino.api import ov
from nnapi.drivers.openvino.computed_indices import CheckedIndices, check_all
from nnapi.drivers.openvino.context import Bounds
from nnapi.drivers.openvino.forks import engine_threads
from nnapi.drivers.openvino.lowering import Lowered
from nnapi.drivers.openvino.value import make_shareable, node_of
from nnapi.errors import OpFailedError, need
from nnapi.locks import make_lock
from nnapi.model.memory import Mapping, need_whole
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.ops.index_checks import BadIndexError
from nnapi.trace import Section, spans
from nnapi.trace.log import Log
from nnapi.trace.profile import Costs, Profile, measure_typical

Inputs = Sequence[Array]
MARK = re.compile(r"#(\d+)\.")
"""Names of nodes contain the number of the operation that they compute."""


def mark_nodes(lowered: Lowered) -> ov.Model:
    """Return OpenVINO's graph, with each node named after the operation whose result it helps to compute.

    A conversion of a model input belongs to the operation that reads it.
    """
    graph = lowered.graph()
    seen: set[str] = set()
    for call in lowered.model.operations:
        waiting = [face for index in call.outputs for face in lowered.values[index].faces()]
        while waiting:
            node = node_of(waiting.pop())
            name = node.get_name()
            if name not in seen and node.get_type_name() not in ("Constant", "Parameter"):
                seen.add(name)
                node.set_friendly_name(f"#{call.number}.{len(seen)}")
                waiting += node.input_values()
    return graph


def measure(model: Model, compile: Callable[[], Any], inputs: Inputs) -> Costs:
    """Return the trace section and the seconds of each node that the engine runs, in order.

    ``compile`` compiles the graph of :func:`mark_nodes`.
    """
    request = compile().create_infer_request()
    for position, array in enumerate(inputs):
        np.copyto(request.get_input_tensor(position).data, make_shareable(array))
    request.infer()  # allocates memory
    names = [_name(node) for node in request.get_profiling_info()]

    def run() -> list[float]:
        request.infer()
        return [_seconds(node) for node in request.get_profiling_info()]

    nodes = zip(names, measure_typical(run), strict=True)
    ran = [(name, seconds) for name, seconds in nodes if seconds]
    numbers = _attribute([number for (number, _), _ in ran])
    return [
        (operation_section(model, number, engine), seconds)
        for number, ((_, engine), seconds) in zip(numbers, ran, strict=True)
    ]


def _seconds(node: Any) -> float:
    """Return a node's seconds; 0 if it has no kernel, because it is fused or only data."""
    seconds: float = node.real_time.total_seconds()
    has_kernel = seconds or not node.exec_type.startswith(("undef", "unknown"))
    return correct_seconds(seconds) if has_kernel else 0.0


def _name(node: Any) -> tuple[int | None, str]:
    mark = MARK.search(node.node_name)
    return int(mark[1]) if mark else None, f"{node.node_type} {node.exec_type}"


def _attribute(numbers: Sequence[int | None]) -> list[int]:
    """Assign nodes without a number, which the engine has added, to the operation of the next node."""
    found: list[int] = []
    after = next((number for number in reversed(numbers) if number is not None), 0)
    for number in reversed(numbers):
        after = after if number is None else number
        found.append(after)
    return found[::-1]


log = Log("nnapi.Driver")

COPIED = 1 << 16
"""Maximum bytes of a tensor that is copied, because passing the caller's memory to the engine would take longer."""


class PreparedOpenVino:
    """A compiled model. Each concurrent run has an inference request, which later runs reuse.

    A run is one call of the engine and cannot be stopped: deadlines are checked before it. Runs of one compiled model
    wait for its threads. With more processors, concurrent runs get copies of the model, made on demand.
    """

    def __init__(
        self,
        shapes: Sequence[Shape],
        compiled: Any,
        bounds: Sequence[Bounds],
        profile: Profile[Inputs],
        copy: Callable[[Any], Any],
        most: int = 1,
        turns: Sequence[int] = (),
        checks: Sequence[CheckedIndices] = (),
    ) -> None:
        """``bounds`` check indices before a run, ``checks`` after it. ``profile`` describes runs in traces, ``copy``
        makes up to ``most`` models. Loops may take ``turns`` at first."""
        self._profile = profile
        self.shapes = tuple(shapes)
        self.compiled = compiled
        self.bounds = tuple(bounds)
        self.mapped: Sequence[Mapping] = ()
        """Mapped files from which the engine reads constants in each run."""
        self.turns, self.checks = tuple(turns), tuple(checks)
        self._copies = _Copies(compiled, copy, most, self.shapes, self.bounds, TurnLimits(turns), self.checks)
        self._pool = Pool(self._copies.make_run)

    def execute(self, request: Request, *, measure: bool = False) -> Outcome:
        engine_threads.need()
        check_deadline(request)
        inputs: list[Array] = []
        for position, (array, shape) in enumerate(zip(request.inputs, self.shapes, strict=True)):
            if array is None or array.shape != shape:
                given = "nothing" if array is None else list(array.shape)
                raise OpFailedError(f"input {position} was prepared for {list(shape)}, {given} is given")
            inputs.append(array)
        turns = [np.array([count], np.int32) for count in self.turns]
        section = self._profile.of([*inputs, *turns]) if spans.active else spans.NOTHING
        if not measure:
            return Outcome(self._infer(inputs, section, request))
        return Outcome(self._infer(inputs, timer := EngineTimer(section), request), timer.nanoseconds)

    def open_handle(self, options: OpenOptions) -> Handle:
        """Return a handle that runs on any idle request. Outputs never share memory with the request."""
        fits = options.shapes is not None and tuple(options.shapes) == self.shapes
        execute = partial(self.execute, measure=True) if options.measure else self.execute
        return Handle(execute, self.open_handle, self._infer if fits else None)

    def _infer(
        self, inputs: Sequence[Array], section: Section | EngineTimer = spans.NOTHING, request: Request | None = None
    ) -> list[Array]:
        engine_threads.need()
        if self.mapped:
            need_whole(self.mapped)
        run = self._pool.take()
        try:
            outputs = run(inputs, section, request)
        except BadIndexError:
            self._pool.put(run)  # not after other errors, which leave the request in an unknown state
            raise
        self._pool.put(run)
        return outputs

    def close(self) -> None:
        self._pool.close()


class _Copies:
    """The copies of a compiled model, and the number of requests that were made for them."""

    def __init__(
        self,
        compiled: Any,
        copy: Callable[[Any], Any],
        most: int,
        shapes: Sequence[Shape],
        bounds: Sequence[Bounds],
        limits: TurnLimits,
        checks: Sequence[CheckedIndices] = (),
    ) -> None:
        self._models, self._copy, self._most = [compiled], copy, most
        self._shapes, self._bounds, self._checks, self._limits = shapes, bounds, checks, limits
        self._requests = 0
        self._lock = make_lock()

    def make_run(self) -> "_Run":
        """Make a request: for a new copy of the model if one is permitted, else for the copies in turn."""
        with self._lock:
            if self._requests and len(self._models) < self._most:
                try:
                    self._models.append(self._copy(self._models[0]))
                except RuntimeError as error:
                    log.warning("runs take turns, as the engine makes no copy of the model: %s", error)
                    self._most = len(self._models)
            model = self._models[self._requests % len(self._models)]
            self._requests += 1
        return _Run(model, self._shapes, self._bounds, self._limits, self._checks)


class _Run:
    """An inference request. Small tensors are copied; the engine uses callers' memory for large ones."""

    def __init__(
        self,
        compiled: Any,
        shapes: Sequence[Shape],
        all_bounds: Sequence[Bounds],
        limits: TurnLimits,
        checks: Sequence[CheckedIndices] = (),
    ) -> None:
        """``shapes`` are those of the inputs that runs give; after them, the engine takes turns of loops. After the
        results, the engine gives the turns that are left, and the extremes of the indices that ``checks`` name."""
        self._request = request = compiled.create_infer_request()
        # the wrapper would convert inputs and results; there are none
        unwrapped: Any = super(ov.InferRequest, request)
        self._invoke = partial(unwrapped.infer, {}, True, False)
        self._limits = limits
        inputs = [_view(request.get_input_tensor(i)) for i in range(len(compiled.inputs))]
        self._of_any_size = [i for i, port in enumerate(compiled.outputs) if port.get_partial_shape().is_dynamic]
        outputs = [_view(request.get_output_tensor(i)) for i in range(len(compiled.outputs))]
        self._checks, self._last = checks, len(outputs) - 1
        if checks:
            outputs.pop()
        loops = len(inputs) - len(shapes)
        self._turns, self._turns_left = inputs[len(shapes) :], outputs[len(outputs) - loops :]
        inputs, outputs = inputs[: len(shapes)], outputs[: len(outputs) - loops]
        taken = [own.shape for own in inputs]
        need(taken == [*shapes], f"OpenVINO takes inputs of shapes {taken}, not {[*shapes]}", OpFailedError)
        large = {position: _Shared(request, position) for position, own in enumerate(inputs) if own.nbytes > COPIED}
        self._puts = [large.get(position) or partial(np.copyto, own) for position, own in enumerate(inputs)]
        self._indices = [
            (bounds, large.get(bounds.position) or _as_unsigned(inputs[bounds.position])) for bounds in all_bounds
        ]
        self._outputs = [own if own.nbytes <= COPIED else None for own in outputs]
        self._small = [own for own in outputs if own.nbytes <= COPIED]
        self._large = [(position, own.shape, own.dtype) for position, own in enumerate(outputs) if own.nbytes > COPIED]
        self._is_static = not self._large and not self._of_any_size

    def __call__(
        self, inputs: Sequence[Array], section: Section | EngineTimer, request: Request | None = None
    ) -> list[Array]:
        """Run; without a ``request``, loops have no time limit."""
        for put, array in zip(self._puts, inputs, strict=True):
            put(array)
        for bounds, indices in self._indices:
            bounds.check(_as_unsigned(indices.shared) if isinstance(indices, _Shared) else indices)
        if self._is_static:
            with section:
                self._infer(request)
            return [own.copy() for own in self._small]
        results: dict[int, Array] = {}
        for position, shape, dtype in self._large:
            results[position] = np.empty(shape, dtype)
            self._request.set_output_tensor(position, ov.Tensor(results[position], shared_memory=True))
        with section:
            self._infer(request)
        for position in self._of_any_size:
            results[position] = _view(self._request.get_output_tensor(position)).copy()
        return [
            results[position] if position in results else own.copy()  # type: ignore[union-attr]
            for position, own in enumerate(self._outputs)
        ]

    def _infer(self, request: Request | None) -> None:
        if not self._turns:
            self._invoke()
        elif request is None:
            self._limits.run_once(self._take_turns)
        else:
            self._limits.run(self._take_turns, request)
        if self._checks:
            check_all(self._checks, _view(self._request.get_output_tensor(self._last)))

    def _take_turns(self, turns: Sequence[int]) -> Sequence[int]:
        """Run, with these turns for each loop; return how many are left."""
        for view, count in zip(self._turns, turns, strict=True):
            view[0] = count
        self._invoke()
        return [int(view[0]) for view in self._turns_left]


class _Shared:
    """A large input of a request, for which the engine reads the caller's memory."""

    def __init__(self, request: Any, position: int) -> None:
        self._request, self._position = request, position
        self._given: Array | None = None
        self.shared: Array

    def __call__(self, array: Array) -> None:
        """Let the engine read an array, and keep the array alive. The same array again takes no time."""
        if array is self._given:
            return
        shared = make_shareable(array)
        self._request.set_input_tensor(self._position, ov.Tensor(shared, shared_memory=True))
        self._given = array if array.flags.c_contiguous else None
        self.shared = shared


def _as_unsigned(indices: Array) -> Array:
    """Return indices as unsigned numbers in one row; negative indices become the largest ones."""
    return indices.reshape(-1).view(np.uint32)


def _view(tensor: Any) -> Array:
    """Return a tensor's memory as an array that keeps it alive."""
    view: Array = tensor.data
    return view
