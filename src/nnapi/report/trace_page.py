"""A page of a recording: timing table, timelines, operations, and the trace itself for other viewers."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nnapi.report.html import render, timeline_view
from nnapi.report.timeline import describe_held, timeline_data
from nnapi.trace import Layer, Phase, Span
from nnapi.trace.labels import LAYERS
from nnapi.trace.marks import from_ftrace
from nnapi.trace.parse import Run, parse
from nnapi.trace.statistics import TOTAL
from nnapi.trace.systrace import to_ftrace, trace_data
from nnapi.trace.timing_table import COLUMNS, NAMES, values

COLUMN_TITLES = [name for _, name in COLUMNS]


def trace_page(spans: Sequence[Span], title: str) -> str:
    """Return one HTML file that needs no network; Perfetto and ``nnapi trace parse`` read it as a trace."""
    one = median_execution(spans)
    return render(
        "trace.html.jinja",
        title=title,
        count=len(spans),
        columns=COLUMN_TITLES,
        runs=list_runs(spans),
        execution=timeline_view(timeline_data(one)) if one else None,
        whole=timeline_view(timeline_data(spans)),
        operations=operations(spans),
        data=trace_data(spans),
    )


def list_runs(spans: Sequence[Span]) -> list[dict[str, Any]]:
    """Return the timing table of each run, as ``nnapi trace parse`` computes it."""
    return [describe_run(run) for run in parse(from_ftrace(to_ftrace(spans))).runs]


def describe_run(run: Run) -> dict[str, Any]:
    """Return the timing table of one run; layers with no time are omitted."""
    shown = values(run.statistics)
    rows = [(NAMES[layer], [_time(shown[f"{layer}_{key}"]) for key, _ in COLUMNS]) for layer in (*LAYERS, TOTAL)]
    return {
        "mark": run.mark.rpartition("[NN_LA_PO]")[2],
        "executions": run.statistics.executions[Phase.OVERALL] or sum(run.statistics.executions.values()),
        "rows": [(name, times) for name, times in rows if set(times) - {"–", "n/a"}],
        "notes": run.notes,
    }


def _time(milliseconds: float) -> str:
    if math.isnan(milliseconds):
        return "n/a"
    text = f"{milliseconds:.3f}"
    return "–" if text.strip("-0.") == "" else f"{text} ms"


def median_execution(spans: Sequence[Span]) -> list[Span]:
    """Return the spans within the outermost execution of median length; the application's, else the runtime's."""
    for layer in (Layer.APPLICATION, Layer.RUNTIME):
        label = layer, Phase.EXECUTION
        executions = [s for s in spans if (s.label.layer, s.label.phase) == label and s.cookie is None]
        if executions:
            executions.sort(key=lambda span: span.end - span.start)
            one = executions[(len(executions) - 1) // 2]
            return [s for s in spans if s.start >= one.start and s.end <= one.end and s.process == one.process]
    return []


def operations(spans: Sequence[Span]) -> list[dict[str, Any]]:
    """Return the time of each operation, and of each fused call of an engine, over all runs."""
    runs: dict[tuple[Any, ...], dict[int, list[Span]]] = {}
    for span, call in zip(spans, _calls(spans), strict=True):
        if "operation" in span.args or "holds" in span.args:
            what = span.args.get("operation", tuple(span.args.get("holds", ())))
            of_one = runs.setdefault((span.args.get("model"), what, span.label.name), {})
            of_one.setdefault(id(call), []).append(span)
    found = [_operation(list(of_one.values())) for of_one in runs.values()]
    whole = sum(one["sum"] for one in found) or 1.0
    return [{**one, "share": one["sum"] / whole} for one in found]


def _calls(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield, for each span, the call that it belongs to: the engine's call for its operators, else the span itself."""
    around: dict[tuple[int, int, int], Span] = {}
    for span in spans:
        around[span.process, span.thread, span.depth] = span
        yield around.get((span.process, span.thread, span.depth - 1), span) if "engine" in span.args else span


def _operation(runs: Sequence[Sequence[Span]]) -> dict[str, Any]:
    first = runs[0][0]
    args: Mapping[str, Any] = first.args
    seconds = [sum(span.seconds for span in run) for run in runs]
    return {
        "number": args.get("operation"),
        "name": first.label.name,
        "runs": len(runs),
        "median": statistics.median(seconds),
        "sum": sum(seconds),
        "engine": " + ".join(dict.fromkeys(filter(None, (span.args.get("engine") for span in runs[0])))),
        "outputs": ", ".join(filter(None, args.get("outputs", ()))) or describe_held(args),
    }
