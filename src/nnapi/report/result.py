"""The result of a benchmark as values and as JSON."""

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

import numpy as np

from nnapi.errors import UnusableFile
from nnapi.notebook_display import NotebookDisplay

FORMAT = "nnapi-bench"
VERSION = 1
OURS = "nnapi"
"""The first word of the names of nnapi's rows."""

Rounds = tuple[tuple[float, ...], ...]
"""Seconds of single runs, by round."""
T = TypeVar("T")


WRONG = 0.05
"""Results are wrong if they differ by more than this share of the output's largest value."""


@dataclass(frozen=True)
class Agreement:
    """The difference of outputs from the reference's. ``unit`` is "steps" (of quantization) or "floats".

    ``differing`` is the share of unequal values, ``relative`` the difference relative to the output's largest value.
    """

    largest: float
    mean: float
    differing: float
    relative: float
    unit: str

    def __str__(self) -> str:
        if not self.largest:
            return "equal"
        if self.unit != "floats":  # "steps"; older files have "codes"
            return f"≤ {self.largest:.3g} step{'' if self.largest == 1 else 's'}"
        return f"≤ {self.relative:.1g} rel."


@dataclass(frozen=True)
class Measurement:
    """One engine on one model. Times are in seconds; values that could not be measured are empty or None.

    ``throughput`` holds the inferences per second of each round, with ``requests`` runs in flight.
    """

    engine: str
    version: str = ""
    devices: tuple[str, ...] = ()
    latency: Rounds = ()
    load: tuple[float, ...] = ()
    compile: tuple[float, ...] = ()
    throughput: tuple[float, ...] = ()
    requests: int = 0
    peak: int | None = None
    agreement: Agreement | None = None
    accuracy: Mapping[str, float] = field(default_factory=dict)
    failure: str = ""

    @property
    def is_ours(self) -> bool:
        return self.engine.split(" ", 1)[0] == OURS

    @property
    def is_wrong(self) -> bool:
        """Whether the results are so far from the reference's that the time says nothing."""
        return self.agreement is not None and self.agreement.relative > WRONG

    @property
    def is_shown(self) -> bool:
        """Whether the engine could load the model, so that it has a row."""
        return bool(self.latency or self.load or self.peak or self.devices)

    @property
    def has_run(self) -> bool:
        return bool(self.latency or (self.is_shown and not self.failure))

    @property
    def samples(self) -> list[float]:
        return [seconds for round in self.latency for seconds in round]

    @property
    def median(self) -> float | None:
        return statistics.median(self.samples) if self.latency else None

    @property
    def minimum(self) -> float | None:
        return min(self.samples) if self.latency else None

    @property
    def p90(self) -> float | None:
        return self._percentile(90)

    @property
    def p99(self) -> float | None:
        return self._percentile(99)

    def _percentile(self, percent: int) -> float | None:
        """Return the smallest latency that so many percent of the runs do not exceed."""
        return float(np.percentile(self.samples, percent, method="inverted_cdf")) if self.latency else None

    @property
    def round_medians(self) -> list[float]:
        return [statistics.median(round) for round in self.latency]

    @property
    def rate(self) -> float | None:
        """Return the median throughput in inferences per second."""
        return statistics.median(self.throughput) if self.throughput else None


@dataclass(frozen=True)
class ModelResult:
    """All engines on one model; ``graph`` and ``timeline`` are for pages. ``examples`` counts labeled inputs."""

    name: str
    file: str
    bytes: int
    operations: int
    signature: str
    inputs: str
    measurements: tuple[Measurement, ...]
    examples: int = 0
    graph: Mapping[str, Any] | None = None
    timeline: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()

    def best(self, *, ours: bool) -> Measurement | None:
        """Return the fastest measurement by median latency: of nnapi with ``ours``, else of other engines."""
        found = [m for m in self.measurements if m.is_ours is ours and m.median is not None]
        return min(found, key=lambda measurement: measurement.median or 0.0, default=None)


@dataclass(frozen=True)
class Benchmark(NotebookDisplay):
    started: str
    machine: Mapping[str, str]
    settings: Mapping[str, Any]
    absent: Mapping[str, str]
    models: tuple[ModelResult, ...]
    is_interrupted: bool = False


def to_data(benchmark: Benchmark) -> dict[str, Any]:
    """Return the benchmark with medians and other summaries, ready for JSON."""
    data = {"format": FORMAT, "version": VERSION, **asdict(benchmark)}
    for model, written in zip(benchmark.models, data["models"], strict=True):
        for measurement, row in zip(model.measurements, written["measurements"], strict=True):
            row["summary"] = {
                "median": measurement.median,
                "minimum": measurement.minimum,
                "p50": measurement.median,
                "p90": measurement.p90,
                "p99": measurement.p99,
                "runs": len(measurement.samples),
                "throughput": measurement.rate,
            }
    return data


def from_data(data: Any) -> Benchmark:
    """Return the benchmark from the data that :func:`to_data` returned. Raises Mistake for anything else."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UnusableFile("it is not a result of nnapi bench")
    if data.get("version") != VERSION:
        raise UnusableFile(f"it is of version {data.get('version')}, this program reads {VERSION}")
    try:
        return _make(Benchmark, {**data, "models": tuple(map(_model, data["models"]))})
    except (KeyError, TypeError, ValueError) as error:
        raise UnusableFile("it is damaged, or was not written by nnapi bench") from error


def _model(data: dict[str, Any]) -> ModelResult:
    measurements = tuple(map(_measurement, data["measurements"]))
    return _make(ModelResult, {**data, "measurements": measurements, "notes": tuple(data["notes"])})


def _measurement(data: dict[str, Any]) -> Measurement:
    agreement = _make(Agreement, data["agreement"]) if data["agreement"] else None
    latency = tuple(tuple(map(float, round)) for round in data["latency"])
    sequences = {name: tuple(data[name]) for name in ("devices", "load", "compile", "throughput")}
    return _make(Measurement, {**data, **sequences, "agreement": agreement, "latency": latency})


def _make(kind: type[T], data: Mapping[str, Any]) -> T:
    return kind(**{field.name: data[field.name] for field in fields(kind)})  # type: ignore[arg-type]
