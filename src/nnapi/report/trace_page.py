"""A recording as a page for people: the timing table, timelines, the operations; and the trace for other viewers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nnapi.report.html import render, timeline_view
from nnapi.report.timeline import held, timeline_data
from nnapi.trace import Layer, Phase, Span
from nnapi.trace.labels import LAYERS
from nnapi.trace.marks import from_ftrace
from nnapi.trace.parse import Run, parse
from nnapi.trace.statistics import TOTAL
from nnapi.trace.systrace import to_ftrace, trace_data
from nnapi.trace.table import COLUMNS, NAMES, values


def trace_page(spans: Sequence[Span], title: str) -> str:
    """The page as HTML: one file that needs no network, and that Perfetto and ``nnapi trace parse`` read as a trace."""
    one = median_execution(spans)
    return render(
        "trace.html.jinja",
        title=title,
        count=len(spans),
        columns=[name for _, name in COLUMNS],
        runs=[_run(run) for run in parse(from_ftrace(to_ftrace(spans))).runs],
        execution=timeline_view(timeline_data(one)) if one else None,
        whole=timeline_view(timeline_data(spans)),
        operations=operations(spans),
        data=trace_data(spans),
    )


def _run(run: Run) -> dict[str, Any]:
    """The timing table of one run; layers without any time are left out."""
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
    """The spans of the execution of median length with everything in it; none where nothing is executed."""
    executions = sorted(_executions(spans), key=lambda span: span.end - span.start)
    if not executions:
        return []
    one = executions[(len(executions) - 1) // 2]
    return [s for s in spans if s.start >= one.start and s.end <= one.end and s.process == one.process]


def _executions(spans: Sequence[Span]) -> Iterator[Span]:
    """The outermost sections of executions by the application, or where it has marked none, by the runtime."""
    for layer in (Layer.APPLICATION, Layer.RUNTIME):
        found = [
            span
            for span in spans
            if (span.label.layer, span.label.phase) == (layer, Phase.EXECUTION) and span.cookie is None
        ]
        if found:
            yield from found
            return


def operations(spans: Sequence[Span]) -> list[dict[str, Any]]:
    """What each operation took in all its runs, and what each engine did that runs several as one."""
    runs: dict[tuple[Any, ...], list[Span]] = {}
    for span in spans:
        if "operation" in span.args:
            runs.setdefault((span.args.get("model"), span.args["operation"], span.label.name), []).append(span)
        elif "holds" in span.args:
            runs.setdefault((span.args.get("model"), tuple(span.args["holds"]), span.label.name), []).append(span)
    sums = {key: sum(span.seconds for span in of_one) for key, of_one in runs.items()}
    whole = sum(sums.values()) or 1.0
    return [_operation(of_one, sums[key], sums[key] / whole) for key, of_one in runs.items()]


def _operation(runs: Sequence[Span], total: float, share: float) -> dict[str, Any]:
    args: Mapping[str, Any] = runs[0].args
    return {
        "number": args.get("operation"),
        "name": runs[0].label.name,
        "runs": len(runs),
        "median": statistics.median(span.seconds for span in runs),
        "sum": total,
        "share": share,
        "outputs": ", ".join(filter(None, args.get("outputs", ()))) or held(args),
    }
