"""Show models, plans, traces and results as HTML in notebooks, without scripts, on light and dark backgrounds."""

from functools import singledispatch
from typing import Any

import numpy as np

from nnapi.model.model import Model, Operand
from nnapi.report.charts import colors
from nnapi.report.graph import devices, graph_data, model_data
from nnapi.report.html import DEVICE_COLORS, describe_graph, render, timeline_view
from nnapi.report.result import Benchmark
from nnapi.report.timeline import timeline_data
from nnapi.report.trace_page import COLUMN_TITLES, describe_run, list_runs, median_execution, operations
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.event import Result
from nnapi.runtime.planning.plan import Plan
from nnapi.trace.parse import Report
from nnapi.trace.recorder import Recorder

MOST_OPERATIONS = 800
"""The most operations of a graph that is drawn, because larger drawings take seconds."""


@singledispatch
def draw(shown: object) -> str | None:
    """Return an object as HTML; None if there is nothing to draw yet."""
    return None


@draw.register
def _(plan: Plan) -> str:
    graph = graph_data(plan)
    return render(
        "notebook_plan.html.jinja",
        title=graph["model"],
        plan=describe_graph(graph, is_drawn=len(graph["operations"]) <= MOST_OPERATIONS),
        device_color=colors(devices(graph), DEVICE_COLORS),
    )


@draw.register
def _(compilation: Compilation) -> str | None:
    return draw(compilation.plan) if compilation.is_ready else None


@draw.register
def _(model: Model) -> str | None:
    if not model.is_finished:
        return None
    graph = model_data(model)
    return render(
        "notebook_model.html.jinja",
        model=model,
        level=model.feature_level,
        inputs_and_outputs=[
            (role, model.operands[index])
            for role, indices in (("input", model.inputs), ("output", model.outputs))
            for index in indices
        ],
        describe_dimensions=_describe_dimensions,
        plan=describe_graph(graph, is_drawn=len(graph["operations"]) <= MOST_OPERATIONS),
        device_color={"": 0},
    )


def _describe_dimensions(operand: Operand) -> str:
    if operand.type.is_scalar:
        return "scalar"
    return " × ".join(str(dimension or "?") for dimension in operand.type.dimensions) or "any"


@draw.register
def _(recorder: Recorder) -> str:
    spans = recorder.spans()
    execution = timeline_view(timeline_data(median_execution(spans) or spans)) if spans else None
    return _draw_trace(list_runs(spans), count=len(spans), execution=execution, operations=operations(spans))


@draw.register
def _(report: Report) -> str:
    return _draw_trace([describe_run(run) for run in report.runs], notes=report.notes)


def _draw_trace(runs: Any, **others: Any) -> str:
    values = {"notes": [], "count": None, "execution": None, "operations": [], **others}
    return render("notebook_trace.html.jinja", columns=COLUMN_TITLES, runs=runs, **values)


@draw.register
def _(result: Result) -> str | None:
    if not result.is_done:
        return None
    model = result.model
    rows = [
        {"name": model.operands[index].name or f"output {number}", "type": model.operands[index].type, "values": values}
        for number, (index, values) in enumerate(zip(model.outputs, result.result(), strict=True))
    ]
    return render("notebook_result.html.jinja", rows=[row | _summarize(row["values"]) for row in rows])


def _summarize(values: Any) -> dict[str, Any]:
    """Return the dimensions of an array, and the range and mean of its values."""
    if not values.size:
        return {"dimensions": values.shape, "statistics": ("", "", "")}
    numbers = values.astype(np.float64)
    statistics = tuple(f"{value:.5g}" for value in (numbers.min(), numbers.mean(), numbers.max()))
    return {"dimensions": values.shape, "statistics": statistics}


@draw.register
def _(benchmark: Benchmark) -> str:
    rows = [(model.name, each, model.best(ours=False)) for model in benchmark.models for each in model.measurements]
    return render("notebook_benchmark.html.jinja", benchmark=benchmark, rows=rows)
