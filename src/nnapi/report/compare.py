"""Compare two benchmarks: find differences that exceed a threshold and are significant. Tests are Mann–Whitney's U on
medians of rounds (runs in a round are not independent), p-values adjusted as by Benjamini and Hochberg (1995)."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from nnapi.printable import pluralize
from nnapi.report.result import Benchmark, Measurement

ALPHA = 0.05
THRESHOLD = 0.1
ACCURACY_LOSS = 0.01
"""The tolerated loss of an accuracy (top-1, top-5, mAP), as a fraction."""
FEWEST = 4
"""The least number of samples on each side with which the test can find a difference."""
RESAMPLES = 2000


class Effect(StrEnum):
    SAME = "same"
    BETTER = "better"
    WORSE = "worse"
    UNKNOWN = "too few samples"
    MACHINE = "as another engine"
    """Worse, but so is another engine by as much, although nnapi's changes do not affect it."""


@dataclass(frozen=True)
class Change:
    """One measured value of one engine on one model in two benchmarks.

    ``ratio`` is after ÷ before, ``interval`` its 95 % confidence interval, ``p`` the adjusted p-value if it is tested.
    """

    model: str
    engine: str
    figure: str
    before: float
    after: float
    ratio: float
    interval: tuple[float, float] | None
    p: float | None
    verdict: Effect
    is_ours: bool


@dataclass(frozen=True)
class Difference:
    """All changes between two benchmarks, and the measurements that cannot be compared."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def regressions(self) -> list[Change]:
        """Return the changes of nnapi's rows that are worse."""
        return [change for change in self.changes if change.is_ours and change.verdict is Effect.WORSE]


def compare(before: Benchmark, after: Benchmark, alpha: float = ALPHA, threshold: float = THRESHOLD) -> Difference:
    old, new = _by_name(before), _by_name(after)
    shared = [key for key in old if key in new]
    changes = [change for key in shared for change in _changes(key[0], old[key], new[key])]
    judged = [_judge(change, alpha, threshold) for change in _adjust(changes)]
    judged = [_excuse(change, judged, threshold) for change in judged]
    return Difference(tuple(judged), tuple(_notes(before, after, set(old) ^ set(new), judged)))


def _by_name(benchmark: Benchmark) -> dict[tuple[str, str], Measurement]:
    return {(model.name, m.engine): m for model in benchmark.models for m in model.measurements}


def _changes(model: str, old: Measurement, new: Measurement) -> Iterator[Change]:
    for figure, before, after in (
        ("latency", old.round_medians, new.round_medians),
        ("throughput", old.throughput, new.throughput),
        ("load", old.load, new.load),
        ("compile", old.compile, new.compile),
    ):
        if before and after:
            yield _test(model, old, figure, before, after)
    if old.peak and new.peak:
        yield _plain(model, old, "peak memory", old.peak, new.peak)
    for metric, value in old.accuracy.items():
        if metric in new.accuracy:
            yield _plain(model, old, metric, value, new.accuracy[metric])
    if bool(old.failure) != bool(new.failure):
        ran, runs = float(not old.failure), float(not new.failure)
        verdict = Effect.WORSE if new.failure else Effect.BETTER
        yield replace(_plain(model, old, "runs", ran, runs), ratio=runs, verdict=verdict)


def _test(model: str, old: Measurement, figure: str, before: Sequence[float], after: Sequence[float]) -> Change:
    from scipy.stats import mannwhitneyu

    middle, new_middle = statistics.median(before), statistics.median(after)
    p = None
    if min(len(before), len(after)) >= FEWEST:
        p = float(mannwhitneyu(before, after, alternative="two-sided").pvalue)
    change = _plain(model, old, figure, middle, new_middle)
    return replace(change, interval=interval(before, after), p=p, verdict=Effect.UNKNOWN)


def _plain(model: str, old: Measurement, figure: str, before: float, after: float) -> Change:
    ratio = after / before if before else 1.0 if after == before else np.inf
    return Change(model, old.engine, figure, before, after, ratio, None, None, Effect.SAME, old.is_ours)


def interval(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the ratio of medians, by bootstrap with a fixed seed."""
    generator = np.random.default_rng(0)
    medians = [
        np.median(generator.choice(np.asarray(values), (RESAMPLES, len(values))), axis=1) for values in (after, before)
    ]
    low, high = np.percentile(medians[0] / medians[1], [2.5, 97.5])
    return float(low), float(high)


def _adjust(changes: Sequence[Change]) -> list[Change]:
    from scipy.stats import false_discovery_control

    ps = [change.p for change in changes if change.p is not None]
    adjusted = iter(false_discovery_control(ps) if ps else ())
    return [change if change.p is None else replace(change, p=float(next(adjusted))) for change in changes]


def _judge(change: Change, alpha: float, threshold: float) -> Change:
    if change.figure == "runs" or (change.p is None and change.interval is not None):
        return change
    share = change.figure.startswith(("top-", "mAP"))
    if share:
        is_large = abs(change.after - change.before) > ACCURACY_LOSS
    else:
        is_large = max(change.ratio, 1 / change.ratio if change.ratio else np.inf) > 1 + threshold
    if not is_large or (change.p is not None and change.p >= alpha):
        return replace(change, verdict=Effect.SAME)
    more_is_better = share or change.figure == "throughput"
    return replace(change, verdict=Effect.BETTER if (change.ratio > 1) == more_is_better else Effect.WORSE)


def _excuse(change: Change, changes: Sequence[Change], threshold: float) -> Change:
    """Attribute a change to the machine if another engine became worse by as much on the same model."""
    if not change.is_ours or change.verdict is not Effect.WORSE or change.p is None:
        return change
    as_much = any(
        _loss(other) * (1 + threshold) >= _loss(change)
        for other in changes
        if not other.is_ours
        and (other.model, other.figure, other.verdict) == (change.model, change.figure, Effect.WORSE)
    )
    return replace(change, verdict=Effect.MACHINE) if as_much else change


def _loss(change: Change) -> float:
    """Return the factor by which a value became worse."""
    return 1 / change.ratio if change.figure == "throughput" else change.ratio


def _notes(
    before: Benchmark, after: Benchmark, alone: set[tuple[str, str]], changes: Sequence[Change]
) -> Iterator[str]:
    for what, names, old, new in (
        ("machines", ("processor", "cores", "system"), before.machine, after.machine),
        ("settings", ("threads", "requests", "inputs", "data set"), before.settings, after.settings),
    ):
        for name in names:
            if old.get(name) != new.get(name):
                yield f"the {what} differ: {name} was {old.get(name)}, is {new.get(name)}"
    for model, engine in sorted(alone):
        yield f"only one of the runs has {engine} on {model}"
    versions = [{m.engine: m.version for m in _by_name(run).values() if not m.is_ours} for run in (before, after)]
    for engine, version in versions[0].items():
        if versions[1].get(engine, version) != version:
            yield f"{engine} was {version}, is {versions[1][engine]}"
    others = [c.ratio for c in changes if not c.is_ours and c.figure == "latency" and c.verdict is not Effect.SAME]
    if others:
        middle = statistics.median(others)
        yield (
            f"other engines, which did not change with us, take {middle:.2f}× as long in "
            f"{pluralize(len(others), 'case')}: the machine was in another state, or they were updated"
        )
