"""``nnapi bench diff``: show the significant differences between two runs."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from nnapi.cli.command import refuse_options
from nnapi.cli.failure import ExitCode
from nnapi.cli.options import Json, need_share
from nnapi.cli.printing import console, print_json, table
from nnapi.errors import Mistake, UnusableFile
from nnapi.printable import format_bytes, pluralize
from nnapi.report.compare import ALPHA, FEWEST, THRESHOLD, Change, Difference, Effect, compare
from nnapi.report.html import rate, seconds, share
from nnapi.report.result import Benchmark, from_data

COLORS = {Effect.BETTER: "green", Effect.WORSE: "red", Effect.MACHINE: "yellow"}
FORMATS: dict[str, Callable[[float], str]] = {
    "throughput": rate,
    "peak memory": format_bytes,
    "mean squared error": lambda value: f"{value:.4g}",
    "runs": lambda value: "yes" if value else "no",
    **dict.fromkeys(("top-1", "top-5", "mAP@.5", "mAP@[.5:.95]"), share),
}
"""Formats of measurements that are not seconds."""


def diff(
    before: Annotated[Path, typer.Argument(metavar="A.json", help="Results of the earlier run.", show_default=False)],
    after: Annotated[Path, typer.Argument(metavar="B.json", help="Results of the later run.", show_default=False)],
    alpha: Annotated[
        float, typer.Option(min=0, max=1, help="Probability of reporting a difference where there is none.")
    ] = ALPHA,
    threshold: Annotated[
        float, typer.Option(min=0, help="Ignore changes up to this fraction, even if they are significant.")
    ] = THRESHOLD,
    all_figures: Annotated[bool, typer.Option("--all", help="Also list values that did not change.")] = False,
    as_json: Json = False,
) -> None:
    """Compare two runs of nnapi bench; exit code 1 if a measurement of nnapi became worse.

    Times are compared by the Mann-Whitney U test over rounds, adjusted for the number of tests. Other engines do not
    count. If one of them became as much worse on the same model, the machine is the cause, and nnapi's change does not.
    """
    need_share(alpha, "--alpha")
    refuse_options(["all_figures"] if as_json else [], "--json has all values")
    if not 0 <= threshold < math.inf:
        raise Mistake(f"--threshold is {threshold:g}, must be 0 or more")
    found = compare(_read(before), _read(after), alpha, threshold)
    if as_json:
        print_json("bench-diff", asdict(found) | {"regressions": len(found.regressions)})
    else:
        _show(console(), found, all_figures)
    if found.regressions:
        raise typer.Exit(ExitCode.DIFFERENT)


def _read(file: Path) -> Benchmark:
    try:
        return from_data(json.loads(file.read_text(encoding="utf-8")))
    except Mistake as error:
        raise UnusableFile(f"{file}: {error}") from None
    except (ValueError, RecursionError):
        raise UnusableFile(f"{file} is not a JSON file") from None


def _show(out: Console, found: Difference, all_figures: bool) -> None:
    for note in found.notes:
        out.print(f"[yellow]{escape(note)}[/]")
    shown = [change for change in found.changes if all_figures or change.verdict in COLORS]
    if shown:
        headings = "model", "engine", "figure", "before", "after", "ratio", "95 %", "p", ""
        out.print(table(*headings, rows=map(_cells, shown), right=["ratio", "p"]))
    out.print(f"[dim]{_count(found)}[/]")
    worse = len(found.regressions)
    if worse:
        out.print(f"[red]{pluralize(worse, 'figure')} of nnapi became worse[/]")
    elif any(change.verdict is not Effect.UNKNOWN for change in found.changes):
        out.print("[green]no figure with enough samples became worse[/]")


def _count(found: Difference) -> str:
    verdicts = [change.verdict for change in found.changes]
    same, unknown = verdicts.count(Effect.SAME), verdicts.count(Effect.UNKNOWN)
    words = f"{pluralize(same, 'figure')} of {len(found.changes)} did not change"
    return words + (f", {unknown} cannot be compared: fewer than {FEWEST} samples" if unknown else "")


def _cells(change: Change) -> list[Text]:
    write = FORMATS.get(change.figure, seconds)
    interval = "" if change.interval is None else "{:.2f} to {:.2f}".format(*change.interval)
    p = "" if change.p is None else f"{change.p:.2g}"
    verdict = Text(str(change.verdict), COLORS.get(change.verdict, "dim"))
    figures = write(change.before), write(change.after), f"{change.ratio:.3g}×"
    return [*map(Text, (change.model, change.engine, change.figure, *figures, interval, p)), verdict]
