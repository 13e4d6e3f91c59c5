"""``nnapi check diff``: show which tests became better or worse between two runs."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from nnapi.cli.command import refuse_options
from nnapi.cli.failure import ExitCode
from nnapi.cli.options import Json
from nnapi.cli.printing import console, print_json
from nnapi.printable import pluralize
from nnapi.testing.suite.comparison import Change, Comparison, compare_runs
from nnapi.testing.suite.record import read_runs
from nnapi.testing.suite.result import Result


def diff(
    before: Annotated[Path, typer.Argument(metavar="A.json", help="Results of the earlier run.", show_default=False)],
    after: Annotated[Path, typer.Argument(metavar="B.json", help="Results of the later run.", show_default=False)],
    all_changes: Annotated[
        bool, typer.Option("--all", help="Also list tests with another reason for the same status.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare two runs of nnapi check; exit code 1 if a test became worse."""
    refuse_options(["all_changes"] if as_json else [], "--json has all changes")
    found = compare_runs(read_runs(before), read_runs(after))
    if as_json:
        print_json("check-diff", _describe(found))
    else:
        _print(console(), found, all_changes)
    if found.worse:
        raise typer.Exit(ExitCode.DIFFERENT)


def _describe(found: Comparison) -> dict[str, Any]:
    lists = {"worse": found.worse, "better": found.better, "others": found.others}
    described: dict[str, Any] = {name: list(map(_describe_change, changes)) for name, changes in lists.items()}
    return described | {"compared": found.compared, "removed": found.removed, "added": found.added}


def _describe_change(change: Change) -> dict[str, Any]:
    sides = {"before": change.before, "after": change.after}
    told = {name: {"status": result.status, "reason": result.reason} for name, result in sides.items()}
    return {"device": change.device, "test": change.after.test, **told}


def _print(out: Console, found: Comparison, all_changes: bool) -> None:
    others = found.others if all_changes else []
    for changes, color in ((found.worse, "bold red"), (found.better, "bold green"), (others, "bold yellow")):
        for change in changes:
            words = f"{_describe_side(change.before)} → {_describe_side(change.after)}"
            out.print(Text.assemble((f"{change.device}, {change.after.test}: ", color), words))
    for names, said in ((found.removed, "only in the earlier run"), (found.added, "only in the later run")):
        if names:
            out.print(f"[yellow]{pluralize(len(names), 'test')} {said}[/]")
    out.print(
        f"{pluralize(found.compared, 'test')} compared: {len(found.worse)} became worse, {len(found.better)} better, "
        f"{len(found.others)} changed the reason"
    )


def _describe_side(result: Result) -> str:
    return f"{result.status}: {result.reason}" if result.reason else str(result.status)
