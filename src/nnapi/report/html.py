"""Pages of a benchmark or of one model's plan, each a single file that needs no network."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from nnapi.printable import format_bytes, printable
from nnapi.report import charts
from nnapi.report.graph import devices
from nnapi.report.graph_layout import draw
from nnapi.report.result import Benchmark, Measurement, ModelResult

DEVICE_COLORS = 6
"""Colors that the page defines for devices, ``--d0`` to ``--d5``."""

VERDICTS = {"same": 2, "within tolerance": 0, "differs": 1, "not judged": 3, "refused": 4, "failed": 1}
"""The colors of verdicts when two devices are compared."""
ALONE_AND_GROWN = "each operation on equal inputs, and how differences grow in the whole model"


def benchmark_page(benchmark: Benchmark) -> str:
    names = [m.engine for model in benchmark.models for m in model.measurements]
    color = charts.colors(names)
    computing = [name for model in benchmark.models if model.graph for name in devices(model.graph)]
    return render(
        "bench.html.jinja",
        benchmark=benchmark,
        color=color,
        overview=charts.overview(benchmark.models) if len(benchmark.models) > 1 else None,
        sections=[_section(model, color) for model in benchmark.models],
        device_color=charts.colors(computing, DEVICE_COLORS),
    )


def explain_page(graph: Mapping[str, Any]) -> str:
    """Return the page of one plan: its graph, colored by device, and its operations."""
    colors = charts.colors(devices(graph), DEVICE_COLORS)
    return render("explain.html.jinja", plan=describe_graph(graph), device_color=colors)


def comparison_page(
    graph: Mapping[str, Any],
    steps: Sequence[Mapping[str, Any]],
    title: str,
    colors: Mapping[str, int] = VERDICTS,
    subtitle: str = ALONE_AND_GROWN,
) -> str:
    """Return the page of a comparison: the graph, colored by verdict, and its steps. ``colors`` has all verdicts."""
    operations = [
        {
            **operation,
            "device": step["verdict"],
            "tip": _tip(operation, [step["verdict"]], filter(None, [step["reason"]])),
        }
        for operation, step in zip(graph["operations"], steps, strict=True)
    ]
    counts = Counter(operation["device"] for operation in operations)
    names = [name for name in colors if name in counts]
    plan = {"drawing": _draw(graph, operations, {}), "operations": operations, "devices": names, "counts": counts}
    return render("compare.html.jinja", title=title, subtitle=subtitle, plan=plan, steps=steps, device_color=colors)


def migration_page(models: Sequence[Mapping[str, Any]], unavailable: Sequence[Mapping[str, str]]) -> str:
    """Return the page of models that leave NNAPI for LiteRT."""
    return render("migrate.html.jinja", models=models, unavailable=unavailable)


def _section(model: ModelResult, color: charts.Colors) -> dict[str, Any]:
    measured = [m for m in model.measurements if m.is_shown]
    best = model.best(ours=False)
    return {
        "model": model,
        "measured": measured,
        "best": best,
        "failed": [m for m in model.measurements if m.failure],
        "metrics": list(dict.fromkeys(name for m in measured for name in m.accuracy)),
        "latency": charts.latencies(model, color),
        "throughput": charts.bars(measured, color, lambda m: m.rate, rate),
        "stages": charts.stages(measured, seconds),
        "memory": charts.bars(measured, color, lambda m: m.peak, format_bytes),
        "plan": describe_graph(model.graph, model.timeline) if model.graph else None,
        "timeline": timeline_view(model.timeline) if model.timeline else None,
    }


def describe_graph(
    graph: Mapping[str, Any], timeline: Mapping[str, Any] | None = None, *, is_drawn: bool = True
) -> dict[str, Any]:
    """Return a graph for a page: its drawing, and for each operation tooltips and the time in a timeline."""
    took: dict[int, float] = {}
    for span in timeline["spans"] if timeline else ():
        if span["operation"] is not None:
            took[span["operation"]] = took.get(span["operation"], 0.0) + span["duration"] / 1e6
    operations = []
    for operation in graph["operations"]:
        lines, elsewhere, traced = [], _elsewhere(operation), took.get(operation["number"])
        if device := operation["device"]:
            cost = operation["seconds"].get(device)
            lines.append(f"on {device}" + (f", predicted {seconds(cost)}" if cost is not None else ""))
        if traced is not None:
            lines.append(f"took {seconds(traced)} in the traced run")
        tip = _tip(operation, lines, [f"not {reason}" for reason in elsewhere])
        operations.append({**operation, "took": traced, "elsewhere": elsewhere, "tip": tip})
    device_of = {operation["number"]: operation["device"] for operation in operations}
    return {
        "graph": graph,
        "operations": operations,
        "drawing": _draw(graph, operations, device_of) if is_drawn else None,
        "devices": devices(graph),
        "counts": Counter(operation["device"] for operation in operations),
        "nested": [
            {"title": part["title"], "plan": describe_graph(part["graph"], is_drawn=is_drawn)}
            for part in graph["nested"]
        ],
        "is_timed": bool(took),
    }


def _elsewhere(operation: Mapping[str, Any]) -> list[str]:
    """Return, for each other device, its predicted time for the operation or the reason of its refusal."""
    lines = []
    for name, verdict in operation["verdicts"].items():
        if name == operation["device"]:
            continue
        cost = operation["seconds"].get(name)
        price = f"would take {seconds(cost)}" if cost is not None else "takes it too"
        lines.append(f"{name}: {price if verdict['supported'] else verdict['reason']}")
    return lines


def _tip(operation: Mapping[str, Any], lines: Iterable[str], reasons: Iterable[str]) -> str:
    outputs = (f"→ {output}" for output in operation["outputs"])
    return "\n".join([f"#{operation['number']} {operation['operation']}", *lines, *outputs, *reasons])


def _draw(
    graph: Mapping[str, Any], operations: Sequence[Mapping[str, Any]], device: Mapping[int, str]
) -> dict[str, Any]:
    """Return boxes and paths with tooltips; ``device`` maps operations to devices, to mark paths between these."""
    edges = graph["edges"]
    inputs = {edge["operand"]: edge for edge in edges if edge["from"] is None}
    outputs = {edge["operand"]: edge for edge in edges if edge["to"] is None}
    numbers = [operation["number"] for operation in operations]
    nodes = [*product(["in"], inputs), *product(["operation"], numbers), *product(["out"], outputs)]
    links = [
        (
            ("in", edge["operand"]) if edge["from"] is None else ("operation", edge["from"]),
            ("out", edge["operand"]) if edge["to"] is None else ("operation", edge["to"]),
        )
        for edge in edges
    ]
    drawing = draw(nodes, links)
    paths = []
    for edge, link in zip(edges, links, strict=True):
        ends = [device[end] for end in (edge["from"], edge["to"]) if end in device]
        crosses = len(set(ends)) > 1
        tip = edge["tensor"] + (f", {format_bytes(edge['bytes'])}" if edge["bytes"] else "")
        tip += "\nmoves from {} to {}".format(*ends) if crosses else ""
        paths.append({"d": drawing.paths[link], "crosses": crosses, "tip": tip})
    return {
        "width": round(drawing.width),
        "height": round(drawing.height),
        "paths": paths,
        "nodes": [{**each, "box": drawing.boxes["operation", each["number"]]} for each in operations],
        "inputs_and_outputs": [
            {
                "box": drawing.boxes[key, index],
                "label": f"{role}: {edge['tensor'].split(':')[0]}",
                "tip": edge["tensor"],
            }
            for key, role, found in (("in", "input", inputs), ("out", "output", outputs))
            for index, edge in found.items()
        ],
    }


def timeline_view(timeline: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spans in lanes; positions and widths are percentages of the whole."""
    whole = timeline["microseconds"] or 1.0
    lanes: dict[tuple[int, int], list[dict[str, Any]]] = {}
    names: dict[int, str] = {}
    for span in timeline["spans"]:
        names.setdefault(span["thread"], span["thread_name"])
        operation = "" if span["operation"] is None else f"\noperation #{span['operation']}"
        operation += f"\n{span['held']}" if span.get("held") else ""
        lanes.setdefault((span["thread"], span["depth"]), []).append(
            {
                "name": span["name"],
                "layer": span["layer"],
                "left": 100 * span["start"] / whole,
                "width": 100 * span["duration"] / whole,
                "tip": f"{span['name']}\n{span['layer']}, {span['phase']}, {span['thread_name']}\n"
                f"{seconds(span['duration'] / 1e6)} from {seconds(span['start'] / 1e6)} on{operation}",
            }
        )
    least = {thread: min(depth for other, depth in lanes if other == thread) for thread in names}
    return {
        "lanes": [
            {"spans": lanes[key], "thread": names[key[0]] if len(names) > 1 and key[1] == least[key[0]] else ""}
            for key in sorted(lanes)
        ],
        "layers": list(dict.fromkeys(span["layer"] for span in timeline["spans"])),
        "whole": whole / 1e6,
        "left_out": timeline["left_out"],
    }


def seconds(value: float) -> str:
    """Format seconds: ``3.21 ms``, ``0.42 µs``, ``1.5 s``."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 0.9995 or unit == "µs":
            break
    return f"{value * factor:.0f} {unit}" if value * factor >= 999.5 else f"{value * factor:.3g} {unit}"


def rate(value: float) -> str:
    """Format inferences per second: ``312 /s``, ``12,400 /s``."""
    return f"{value:,.0f} /s" if value >= 99.5 else f"{value:.3g} /s"


def share(value: float) -> str:
    return f"{100 * value:.1f} %"


def metric(name: str, value: float) -> str:
    """Format a metric: shares as percentages, errors unchanged."""
    return f"{value:.4g}" if "error" in name else share(value)


def ratio(measurement: Measurement, best: Measurement | None) -> float | None:
    """Return the speed relative to ``best``, by median latency; None if one was not measured."""
    if best is None or not best.median or not measurement.median:
        return None
    return best.median / measurement.median


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("nnapi.report"),
        autoescape=True,
        finalize=lambda value: printable(value, keeps_lines=True) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"seconds": seconds, "size": format_bytes, "rate": rate, "share": share}
    made.globals |= {"metric": metric, "ratio": ratio}
    return made


def render(template: str, **values: Any) -> str:
    return str(_environment().get_template(template).render(**values))
