"""Summarize several models: the shortest run of each engine, and nnapi's relative speed."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from nnapi.report.result import Benchmark, ModelResult

ALONE = "litert"
"""The engine, able to run all files, with which nnapi is also compared separately."""


@dataclass(frozen=True)
class Line:
    """One model: seconds of the shortest run by engine, and nnapi's speed relative to ``best`` (the fastest engine
    of the others that is not ``wrong``) and LiteRT (``alone``)."""

    name: str
    devices: tuple[str, ...]
    times: dict[str, float]
    best: str | None
    ratio: float | None
    alone: float | None
    wrong: frozenset[str] = frozenset()
    """Engines with wrong results."""


def summarize(benchmark: Benchmark) -> list[Line]:
    return [_summarize_model(model) for model in benchmark.models]


def geometric_mean(ratios: Sequence[float | None]) -> tuple[float, int] | None:
    """Return the geometric mean of the ratios that are not None, and their number; None if there are none."""
    known = [ratio for ratio in ratios if ratio is not None]
    return (statistics.geometric_mean(known), len(known)) if known else None


def _summarize_model(model: ModelResult) -> Line:
    times = {m.engine: m.minimum for m in model.measurements if m.minimum}
    devices = {m.engine: m.devices for m in model.measurements if m.is_ours}
    are_judged = not any(m.is_wrong for m in model.measurements if m.is_ours)  # else the outputs depend on earlier runs
    wrong = frozenset(m.engine for m in model.measurements if m.is_wrong and are_judged)
    right = [name for name in times if name not in wrong]
    ours, best = (
        min((name for name in right if (name in devices) is is_ours), key=times.__getitem__, default=None)
        for is_ours in (True, False)
    )

    def ratio(other: str | None) -> float | None:
        return times[other] / times[ours] if ours and other in times else None

    return Line(model.name, devices[ours] if ours else (), times, best, ratio(best), ratio(ALONE), wrong)
