"""The time of each layer in each phase of a run, in wall-clock milliseconds. NaN is a time that the trace lacks."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nnapi.trace.labels import EXECUTION_PHASES, LAYERS, PHASES, Layer, Phase
from nnapi.trace.threads import CASES, Thread

TOTAL = "LT"

Times = dict[Phase, dict[str, float]]
"""Milliseconds by phase, then by layer or TOTAL."""

EXECUTION = (Phase.EXECUTION, *EXECUTION_PHASES)
ALL = (Phase.OVERALL, *(part for phase in PHASES for part in (EXECUTION if phase is Phase.EXECUTION else (phase,))))

STARTS = ("ANeuralNetworksExecution_startCompute", "ANeuralNetworksExecution_startComputeWithDependencies")
WAIT = "ANeuralNetworksEvent_wait"
SYNCHRONOUS = (
    "ANeuralNetworksExecution_create",
    "ANeuralNetworksExecution_free",
    "ANeuralNetworksEvent_create",
    "ANeuralNetworksEvent_free",
    "ANeuralNetworksExecution_setInput",
    "ANeuralNetworksExecution_setOutput",
    "ANeuralNetworksExecution_setInputFromMemory",
    "ANeuralNetworksExecution_setOutputFromMemory",
    "ANeuralNetworksExecution_compute",
    "ANeuralNetworksExecution_burstCompute",
)
"""The runtime's functions for executions that block until they are done."""

DRIVER_BEGINS, DRIVER_ENDS = "HIDL::IPreparedModel::execute::server", "HIDL::IExecutionCallback::notify::client"


@dataclass(frozen=True)
class Statistics:
    times: Times
    self_times: Times
    executions: Mapping[Phase, int]
    cases: Mapping[Phase, tuple[Times, Times]]
    """Times and self times of executions in WARM_UP and in BENCHMARK, if the run has both."""

    @property
    def has_cpu(self) -> bool:
        return any(self.times[phase][Layer.CPU] > 0.0 for phase in ALL)


def statistics(threads: Sequence[Thread]) -> Statistics:
    executions = {case: _executions(threads, case) for case in (Phase.OVERALL, *CASES)}
    per_case = {
        case: {phase: {layer: _time(threads, case, layer, phase) for layer in LAYERS} for phase in ALL}
        for case in (Phase.OVERALL, *CASES)
    }
    times = _mark_unmeasured(
        {phase: {layer: _sum(case[phase][layer] for case in per_case.values()) for layer in LAYERS} for phase in ALL}
    )
    for layer in LAYERS:
        if not times[Phase.OVERALL][layer]:
            times[Phase.OVERALL][layer] = _sum(_or_zero(times[phase][layer]) for phase in PHASES)
    _add_totals(times)
    cases = {}
    if all(executions[case] for case in CASES):
        for case in CASES:
            part = _mark_unmeasured({phase: per_case[case][phase] for phase in EXECUTION})
            _add_totals(part)
            cases[case] = part, _self_times(part)
    return Statistics(times, _self_times(times), executions, cases)


def _executions(threads: Iterable[Thread], case: Phase) -> int:
    """Return the number of executions: that of the runtime's sections or, if it has none, of the application's."""
    counts = [len(t.intervals[case, "ANeuralNetworksExecution_create"]) or t.executions[case] for t in threads]
    return max(counts, default=0)


def _time(threads: Sequence[Thread], case: Phase, layer: Layer, phase: Phase) -> float:
    special = {Layer.DRIVER: _driver_execution, Layer.RUNTIME: _runtime_execution}
    time = special[layer](threads, case) if phase is Phase.EXECUTION and layer in special else None
    if time is not None:
        return time
    return _sum(_sum(time for _, time in thread.items.get((case, layer, phase), ())) for thread in threads)


def _driver_execution(threads: Sequence[Thread], case: Phase) -> float | None:
    """Return the time from calls' arrival at the driver to its callbacks, by Android's stubs; None without stubs."""
    begins = sorted(begin for t in threads for begin, _ in t.intervals[case, DRIVER_BEGINS])
    ends = sorted(begin for t in threads for begin, _ in t.intervals[case, DRIVER_ENDS])
    return _sum(end - begin for begin, end in zip(begins, ends, strict=False)) if begins and ends else None


def _runtime_execution(threads: Sequence[Thread], case: Phase) -> float | None:
    """Return the time from asynchronous starts to the ends of their waits, plus that of synchronous calls."""
    if not any(t.intervals[case, name] for t in threads for name in (*STARTS, *SYNCHRONOUS)):
        return None
    # Concurrent computations cannot be distinguished; the time before a late wait counts too.
    return _sum(_asynchronous(t, case) for t in threads)


def _asynchronous(thread: Thread, case: Phase) -> float:
    starts = sorted(begin for name in STARTS for begin, _ in thread.intervals[case, name])
    pairs = list(zip(starts, (end for _, end in thread.intervals[case, WAIT]), strict=False))
    pairs += [interval for name in SYNCHRONOUS for interval in thread.intervals[case, name]]
    return _sum(end - start for start, end in pairs)


def _mark_unmeasured(times: Mapping[Phase, Mapping[Layer, float]]) -> Times:
    """Replace zeros by NaN for layers that a trace may omit: the application, and the driver during executions."""

    def is_optional(layer: Layer, phase: Phase) -> bool:
        return layer is Layer.APPLICATION or (layer is Layer.DRIVER and phase in EXECUTION_PHASES)

    return {
        phase: {layer: time or (math.nan if is_optional(layer, phase) else 0.0) for layer, time in layers.items()}
        for phase, layers in times.items()
    }


def _add_totals(times: Times) -> None:
    for layers in times.values():
        layers[TOTAL] = max(_or_zero(time) for time in layers.values())


def _self_times(times: Times) -> Times:
    """Return each layer's time less the time of the next lower layer that has any."""
    result: Times = {phase: {TOTAL: layers[TOTAL]} for phase, layers in times.items()}
    for phase, layers in times.items():
        below = 0.0
        for layer in reversed(LAYERS):
            time = layers[layer]
            if math.isnan(time) or time == 0.0:
                result[phase][layer] = time
            elif _is_driver_idle(phase, layer, times):
                result[phase][layer] = time - (layers[Layer.DRIVER] if layer is Layer.IPC else 0.0)
            else:
                result[phase][layer] = time - below
                below = time
    return result


def _is_driver_idle(phase: Phase, layer: Layer, times: Times) -> bool:
    """Return whether the driver only answered queries; the CPU's time then counts neither for it nor for IPC."""
    is_below = phase is Phase.OVERALL and layer in (Layer.DRIVER, Layer.IPC)
    return is_below and times[Phase.EXECUTION][Layer.DRIVER] == 0.0


def _or_zero(time: float) -> float:
    return 0.0 if math.isnan(time) else time


def _sum(times: Iterable[float]) -> float:
    """Return the plain sum; from Python 3.12 on, `sum` compensates rounding errors, which changes the last digits."""
    total = 0.0
    for time in times:
        total += time
    return total
