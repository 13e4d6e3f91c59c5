"""Measure the time of each operator of a graph with LiteRT's own profiler.

Python cannot reach the interpreter's profiler. The C API has one, for models that it compiles itself. Its other events
read a file, which takes 0.1 ms per run. So a few separate runs measure the operators' shares of the time.
"""

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from nnapi.contract.profiling import correct_seconds, operation_section, profile_engine
from nnapi.drivers.litert.artifact import Engine
from nnapi.drivers.litert.c_api import CompiledModel, call, make
from nnapi.formats.tflite.operators import CLAMP, CONVERT, row_of
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.trace import Layer, Phase, Section
from nnapi.trace.profile import Costs, Profile, measure_typical

KERNEL, DELEGATED = 2, 8
"""Types of events: an operator run by LiteRT's kernel; an operator run inside a delegate."""


class _Event(ctypes.Structure):
    _fields_ = (
        ("tag", c_char_p),
        ("type", c_int),
        ("start", c_uint64),
        ("microseconds", c_uint64),
        ("memory", c_size_t * 6),
        ("operator", c_uint64),
        ("graph", c_uint64),
        ("source", c_int),
    )


class OperatorTime(NamedTuple):
    """The seconds of one operator. ``operator`` is its index in the file, None inside XNNPACK's delegate."""

    name: str
    operator: int | None
    seconds: float


class Profiled(CompiledModel):
    """A file compiled with LiteRT's profiler, run on copies of the inputs."""

    def __init__(self, content: bytes, inputs: Sequence[Array], outputs: Sequence[Array], threads: int) -> None:
        options = {b"runtime_options_string": b"enable_profiling = true\n", b"xnnpack": b"num_threads = %d\n" % threads}
        super().__init__(content, (inputs, outputs), options)
        self._profiler = make("CompiledModelGetProfiler", self.handle)

    def run(self) -> list[OperatorTime]:
        """Run once; return the events of the main graph's operators, in order. The time of a subgraph is that of the
        operator that runs it."""
        call("StartProfiler", self._profiler)
        self.invoke()
        count = c_int()
        call("GetNumProfilerEvents", self._profiler, byref(count))
        events = (_Event * count.value)()
        call("GetProfilerEvents", self._profiler, count, events)
        found = [
            OperatorTime(
                (e.tag or b"").decode(errors="replace"), e.operator if e.type == KERNEL else None, e.microseconds / 1e6
            )
            for e in events
            if e.type in (KERNEL, DELEGATED) and e.graph == 0
        ]
        call("ResetProfiler", self._profiler)
        return found


class OperatorNode(NamedTuple):
    """An operator's kind, and the indices of its tensors (-1: omitted)."""

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


FINISHING = CLAMP
"""Prefixes of events that finish the operator before them. Other extra events prepare the operator after them."""
FUSED, ALONE, MISNAMED = 2, 2, 3
"""Costs in matching: an operator without an event, an event without an operator, a pair with different names."""


def may_be_event_of(kind: str, name: str) -> bool:
    """Return whether ``name`` may be an event of this kind. "Invalid" are chains of operators in one table."""
    names = row_of(kind).events
    if name.startswith("Invalid"):
        return names in (CONVERT, CLAMP)
    return name.startswith(names or kind[:3].capitalize())


def find_owners(nodes: Sequence[OperatorNode], events: Sequence[OperatorTime]) -> list[int]:
    """Return the index of the operator behind each event."""
    left = dict.fromkeys(range(len(nodes)))
    for event in events:
        if event.operator is not None:
            left.pop(event.operator, None)
    pending = {tensor for node in nodes for tensor in node.outputs}
    found: list[int] = []
    for is_builtin, group in groupby(events, lambda event: event.operator is not None):
        names = list(group)
        if is_builtin:
            numbers = [event.operator for event in names if event.operator is not None]
            found += numbers
            pending.difference_update(*(nodes[number].outputs for number in numbers))
            continue
        part = []
        for number in list(left):
            if not pending.intersection(nodes[number].inputs):
                part.append(number)
                pending -= set(nodes[number].outputs)
                del left[number]
        if not part:
            raise ValueError("XNNPACK runs operators before their inputs are computed")
        found += [part[at] for at in align_events([nodes[number].kind for number in part], [e.name for e in names])]
    return found


def align_events(kinds: Sequence[str], names: Sequence[str]) -> list[int]:
    """Match event names with operator kinds, both in order, at minimum cost. Return the kind's index for each name."""
    if len(kinds) == len(names) and all(map(may_be_event_of, kinds, names)):
        return list(range(len(kinds)))
    costs = [[ALONE * j for j in range(len(names) + 1)]]
    for i, kind in enumerate(kinds, 1):
        above, row = costs[-1], [FUSED * i]
        for j, name in enumerate(names, 1):
            same = above[j - 1] + (0 if may_be_event_of(kind, name) else MISNAMED)
            row.append(min(same, above[j] + FUSED, row[j - 1] + ALONE))
        costs.append(row)
    return _trace_back(kinds, names, costs)


def _trace_back(kinds: Sequence[str], names: Sequence[str], costs: Sequence[Sequence[int]]) -> list[int]:
    """Return the matching of minimum cost, with extra events as late as possible."""
    found = [0] * len(names)
    i, j = len(kinds), len(names)
    while j:
        if costs[i][j] == costs[i][j - 1] + ALONE:
            j -= 1
            is_end = i == len(kinds) or (i > 0 and names[j].startswith(FINISHING))
            found[j] = i - 1 if is_end else i
        elif i and costs[i][j] == costs[i - 1][j] + FUSED:
            i -= 1
        else:
            i, j = i - 1, j - 1
            found[j] = i
    return found


def profile(model: Model, origins: Sequence[int | None]) -> Profile[Engine]:
    """Return the profile for the engine's calls; ``origins`` has the operation of each operator in the graph."""
    return profile_engine(model, "LiteRT", partial(measure_operators, model, origins))


def measure_operators(model: Model, origins: Sequence[int | None], engine: Engine) -> Costs:
    """Return the trace section and the seconds of each event, in the order of a run."""
    events, seconds = _measure(engine)
    operators = find_owners(_nodes(engine.native, len(origins)), events)
    return [
        (_section(model, origins[operator], event.name), cost)
        for event, operator, cost in zip(events, operators, seconds, strict=True)
    ]


def _measure(engine: Engine) -> tuple[list[OperatorTime], list[float]]:
    with Profiled(bytes(engine.content), engine.inputs, engine.outputs, engine.threads) as profiled:
        events = profiled.run()  # the first run allocates memory: its times are not used
        return events, measure_typical(lambda: [correct_seconds(event.seconds) for event in profiled.run()])


def _nodes(native: Any, count: int) -> list[OperatorNode]:
    """Return the graph's operators, which the interpreter lists before delegate nodes."""
    return [
        OperatorNode(
            native.NodeName(at), tuple(map(int, native.NodeInputs(at))), tuple(map(int, native.NodeOutputs(at)))
        )
        for at in range(count)
    ]


def _section(model: Model, origin: int | None, engine: str) -> Section:
    """Return the trace section of an operator: that of its operation, if it has one."""
    if origin is None:
        return Section(Layer.DRIVER, Phase.COMPUTATION, engine, model=model.name)
    return operation_section(model, origin, engine)
