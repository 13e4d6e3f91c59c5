"""Several models side by side: the shortest run of every engine, and nnapi's relative speed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from nnapi.report.result import Benchmark, Measurement, ModelResult

ALONE = "litert"
"""The engine that nnapi is also compared with alone: it runs all of the files."""


@dataclass(frozen=True)
class Line:
    """One model: seconds of the shortest run by engine, nnapi's speed relative to ``best`` and LiteRT (``alone``)."""

    name: str
    devices: tuple[str, ...]
    times: dict[str, float]
    best: str | None
    ratio: float | None
    alone: float | None


def summarize(benchmark: Benchmark) -> list[Line]:
    return [_summarize_model(model) for model in benchmark.models]


def geometric_mean(ratios: Sequence[float | None]) -> tuple[float, int] | None:
    """Return the geometric mean of the known ratios, and their number; None without any."""
    known = [math.log(ratio) for ratio in ratios if ratio is not None]
    return (math.exp(statistics.fmean(known)), len(known)) if known else None


def _summarize_model(model: ModelResult) -> Line:
    ran = [m for m in model.measurements if m.minimum is not None]
    ours, others = _fastest([m for m in ran if m.is_ours]), [m for m in ran if not m.is_ours]
    best, alone = _fastest(others), _fastest([m for m in others if m.engine == ALONE])
    times = {m.engine: m.minimum for m in ran if m.minimum is not None}
    devices = ours.devices if ours else ()
    return Line(model.name, devices, times, best.engine if best else None, _ratio(best, ours), _ratio(alone, ours))


def _fastest(measurements: Sequence[Measurement]) -> Measurement | None:
    return min(measurements, key=lambda m: m.minimum or math.inf, default=None)


def _ratio(other: Measurement | None, ours: Measurement | None) -> float | None:
    return other.minimum / ours.minimum if other and ours and other.minimum and ours.minimum else None
