"""The timing table of the NNAPI guide, layers by phases, as text and as values for JSON."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nnapi.trace.labels import LAYERS, PHASES, Layer, Phase
from nnapi.trace.parse import Report, Run
from nnapi.trace.statistics import EXECUTION, TOTAL, Statistics

COMPUTE, SHARE = "PEO", "PEp"
"""Columns: computing alone, without writing inputs and reading results; a layer's share of executions in percent."""

NAMES = {
    Layer.APPLICATION: "Application",
    Layer.RUNTIME: "Runtime",
    Layer.IPC: "IPC",
    Layer.DRIVER: "Driver",
    Layer.CPU: "CPU",
    TOTAL: "Total",
}
EXECUTION_COLUMNS = (
    (Phase.INPUTS_AND_OUTPUTS, "I/O"),
    (COMPUTE, "Compute"),
    (Phase.RESULTS, "Results"),
    (Phase.EXECUTION, "Ex. total"),
)
COLUMNS = (
    (Phase.INITIALIZATION, "Initialization"),
    (Phase.PREPARATION, "Preparation"),
    (Phase.COMPILATION, "Compilation"),
    *EXECUTION_COLUMNS,
    (Phase.TERMINATION, "Termination"),
    (Phase.OVERALL, "Total"),
)
STAR = "* ignores what was not measured (n/a), so it need not agree with the rest"

Values = dict[str, float]
"""Milliseconds by layer and phase, such as ``LR_PE``."""


def values(statistics: Statistics, *, total_times: bool = False, per_execution: bool = False) -> Values:
    """Return the values of the table, by default self times. NaN is a time that was not measured.

    ``per_execution`` divides by the number of executions; if the run separates warm-up and benchmark, by the latter's.
    """
    times = dict(statistics.times if total_times else statistics.self_times)
    has_benchmark = per_execution and Phase.BENCHMARK in statistics.cases
    if has_benchmark:
        times |= statistics.cases[Phase.BENCHMARK][0 if total_times else 1]
    result: Values = {}
    for layer in (*LAYERS, TOTAL):
        for phase in (Phase.OVERALL, *PHASES, Phase.INPUTS_AND_OUTPUTS, Phase.RESULTS):
            result[f"{layer}_{phase}"] = times[phase][layer]
        ends = times[Phase.INPUTS_AND_OUTPUTS][layer], times[Phase.RESULTS][layer]
        result[f"{layer}_{COMPUTE}"] = times[Phase.EXECUTION][layer] - ends[0] - ends[1]
    total = times[Phase.EXECUTION][TOTAL]
    for layer in LAYERS:
        result[f"{layer}_{SHARE}"] = times[Phase.EXECUTION][layer] * 100.0 / total if total > 0.0 else math.nan
    if per_execution:
        count = statistics.executions[Phase.BENCHMARK if has_benchmark else Phase.OVERALL]
        for key in [f"{layer}_{phase}" for layer in (*LAYERS, TOTAL) for phase, _ in EXECUTION_COLUMNS]:
            result[key] = result[key] / count if count else math.nan
    return result


def name_run(run: Run) -> str:
    """Return the name of a run's section, and its process."""
    found = re.fullmatch(r"B\|(\d+)\|(?:\[\w+\])?(.*)", run.mark, re.DOTALL)
    return f"{found[2] or 'a run'}, process {found[1]}" if found else run.mark or "the trace, which marks no run"


def table(run: Run, *, total_times: bool = False, per_execution: bool = False) -> str:
    shown = values(run.statistics, total_times=total_times, per_execution=per_execution)
    columns = (*EXECUTION_COLUMNS, (SHARE, "Percentage")) if per_execution else COLUMNS
    kind = "total times" if total_times else "self-times"
    unit = "ms wall-clock per execution" if per_execution else "ms wall-clock"
    lines = [name_run(run), "", f"NNAPI timing summary ({kind}, {unit})", *_headings(columns, run)]
    layers = [layer for layer in LAYERS if layer is not Layer.CPU or run.statistics.has_cpu]
    lines += [_row(layer, columns, shown) for layer in layers]
    lines += ["", _row(TOTAL, columns, shown), STAR, *(f"note: {note}" for note in run.notes)]
    return "\n".join(lines)


def _headings(columns: tuple[tuple[str, str], ...], run: Run) -> Iterator[str]:
    widths = [max(len(title), 12) + 2 for _, title in columns]
    first = columns.index((Phase.INPUTS_AND_OUTPUTS, "I/O"))
    left, over = sum(widths[:first]) + 12, sum(widths[first : first + 4])
    count = run.statistics.executions[Phase.OVERALL] or sum(run.statistics.executions.values())
    group = f" Execution ({count}x) " if count else " Execution "
    yield " " * left + "  " + group.center(over - 2, "-")
    yield " " * 12 + "".join(title.rjust(width) for (_, title), width in zip(columns, widths, strict=True))
    yield " " * 12 + "".join(("-" * (width - 2)).rjust(width) for width in widths)


def _row(layer: str, columns: tuple[tuple[str, str], ...], shown: Values) -> str:
    cells = []
    for phase, title in columns:
        value = shown.get(f"{layer}_{phase}", 100.0)  # the total of all layers is 100 %
        is_starred = (layer == TOTAL and phase != SHARE) or (layer is Layer.APPLICATION and phase is Phase.OVERALL)
        text = _number(value) + ("%" if phase == SHARE and _number(value)[-1].isdigit() else "")
        cells.append((text + "*" if is_starred else text + " ").rjust(max(len(title), 12) + 2))
    return (NAMES[layer].ljust(13) + "".join(cells)).rstrip()


def _number(value: float) -> str:
    if math.isnan(value):
        return "n/a"
    text = f"{value:.2f}"
    return "-" if text in ("0.00", "-0.00") else text


def describe(run: Run, *, total_times: bool = False, per_execution: bool = False) -> dict[str, Any]:
    """Return the statistics of one run, ready for JSON; null is a time that was not measured.

    ``times`` and ``self_times`` are phase → layer → milliseconds, ``LT`` the total. ``template_inputs`` is the table.
    """
    statistics = run.statistics
    times, self_times = _plain(statistics.times), _plain(statistics.self_times)
    for case, (total, own) in statistics.cases.items():
        times[case] = _plain({phase: total[phase] for phase in EXECUTION})
        self_times[case] = _plain({phase: own[phase] for phase in EXECUTION})
    shown = values(statistics, total_times=total_times, per_execution=per_execution)
    return {
        "execution_counts": {str(case): count for case, count in statistics.executions.items()},
        "self_times": self_times,
        "starting_mark": run.mark,
        "template_inputs": {key: _json(value) for key, value in shown.items()},
        "times": times,
        "version": 1,
    }


def _plain(times: Mapping[Phase, Mapping[str, float]]) -> dict[str, Any]:
    return {str(phase): {str(k): _json(value) for k, value in layers.items()} for phase, layers in times.items()}


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value


def list_runs(report: Report, *, total_times: bool = False, per_execution: bool = False) -> list[dict[str, Any]]:
    """Return the complete runs of a report, ready for JSON."""
    return [
        describe(run, total_times=total_times, per_execution=per_execution) for run in report.runs if run.is_complete
    ]


def detail(run: Run) -> Iterator[str]:
    """Yield lines that list the sections of each thread, layer and phase."""
    for thread in run.threads:
        for (case, layer, phase), items in thread.items.items():
            where = f"[{case}] " if case is not Phase.OVERALL else ""
            milliseconds = sum(time for _, time in items)
            yield f"thread {thread.number}  {where}{layer}_{phase}  {milliseconds:.3f} ms in {len(items)}"
            yield from (f"    {time:12.3f}  {mark}" for mark, time in items)
