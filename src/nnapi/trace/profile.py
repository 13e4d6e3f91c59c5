"""Profile the operators within one call of an engine, in extra runs."""

import time
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Generic, TypeVar

from nnapi.locks import make_lock
from nnapi.trace.log import Log
from nnapi.trace.recorder import Part
from nnapi.trace.spans import Section

log = Log("nnapi.Driver")

T = TypeVar("T")
Costs = Sequence[tuple[Section, float]]
"""The operators of an engine in order, and the seconds of each."""
LEAST, MOST = 3, 25
ENOUGH = 0.05
"""Seconds after which no optional run begins."""


class Profile(Generic[T]):
    """The section of an engine's call, divided among its operators when the recording is read.

    ``measure`` runs the engine on the last subject with the engine's profiler. Recorded calls run without it, because
    it slows them; they are divided in the proportions it reports. If profiling fails, they are not divided.
    """

    def __init__(self, section: Section, measure: Callable[[T], Costs]) -> None:
        self._section, self._division = section, _Division(section.label.name, measure)
        section.parts = self._division.measure_parts

    def of(self, subject: T) -> Section:
        """Return the section with which to record a call of the engine on ``subject``."""
        self._division.subject = subject
        return self._section


class _Division(Generic[T]):
    """The division of an engine's call. It does not refer to the call's section, which refers to it."""

    def __init__(self, name: str, measure: Callable[[T], Costs]) -> None:
        self._name, self._measure = name, measure
        self.subject: T | None = None
        self._parts: Sequence[Part] | None = None
        self._lock = make_lock()

    def measure_parts(self) -> Sequence[Part]:
        with self._lock:
            if self._parts is None and self.subject is not None:
                try:
                    self._parts = divide_by_costs(self._measure(self.subject))
                except Exception as error:  # less detail is better than no trace
                    log.warning("%s cannot be profiled, its operations share one section: %s", self._name, error)
                    self._parts = ()
                self.subject = None
            return self._parts or ()


def measure_typical(run: Callable[[], Sequence[float]], most: int = MOST) -> list[float]:
    """Average each of the times that ``run`` returns over the fastest half of several runs."""
    runs: list[Sequence[float]] = []
    end = time.monotonic() + ENOUGH
    while len(runs) < LEAST or (len(runs) < most and time.monotonic() < end):
        runs.append(run())
    half = (len(runs) + 1) // 2
    return [sum(sorted(same)[:half]) / half for same in zip(*runs, strict=True)]


def divide_by_costs(costs: Costs) -> list[Part]:
    """Divide a section into consecutive parts, in proportion to their costs."""
    total = sum(cost for _, cost in costs) or 1.0
    bounds = accumulate((cost / total for _, cost in costs), initial=0.0)
    return [
        Part(section, start, min(end, 1.0)) for (section, _), (start, end) in zip(costs, pairwise(bounds), strict=True)
    ]
