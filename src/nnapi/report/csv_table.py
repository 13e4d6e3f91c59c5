"""A benchmark as a table of comma-separated values, with a row for each engine on each model."""

import csv
import io
import statistics
from collections.abc import Sequence

from nnapi.report.result import Benchmark, Measurement, ModelResult

HEADINGS = (
    "model",
    "engine",
    "version",
    "devices",
    "threads",
    "runs",
    "min_ms",
    "p50_ms",
    "p90_ms",
    "p99_ms",
    "throughput_per_s",
    "requests",
    "load_ms",
    "compile_ms",
    "peak_bytes",
    "failure",
)


def csv_table(benchmark: Benchmark) -> str:
    """Return the headings, then the rows; a value that was not measured is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADINGS)
    for model in benchmark.models:
        for measurement in model.measurements:
            writer.writerow(_row(model, measurement, benchmark.settings.get("threads", "")))
    return text.getvalue()


def _row(model: ModelResult, measured: Measurement, threads: object) -> Sequence[object]:
    times = (measured.minimum, measured.median, measured.p90, measured.p99)
    return (
        model.name,
        measured.engine,
        measured.version,
        " + ".join(measured.devices),
        threads,
        len(measured.samples),
        *map(_milliseconds, times),
        "" if measured.rate is None else f"{measured.rate:.6g}",
        measured.requests or "",
        *(_milliseconds(statistics.median(each) if each else None) for each in (measured.load, measured.compile)),
        "" if measured.peak is None else measured.peak,
        measured.failure,
    )


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.6g}"
