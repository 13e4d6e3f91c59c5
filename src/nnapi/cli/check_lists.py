"""The lists that ``nnapi check`` reads, the files that it writes, and its summary of unexpected results."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from nnapi.cli.failure import ExitCode
from nnapi.cli.options import need_page
from nnapi.cli.printing import print_json, write_json
from nnapi.printable import pluralize
from nnapi.report.html import render
from nnapi.runtime.device import device
from nnapi.store.files import write_text
from nnapi.testing.suite.expectations import Expectations, Judged, read_baseline, write_baseline
from nnapi.testing.suite.journal import Journal
from nnapi.testing.suite.matrix import make_matrix
from nnapi.testing.suite.pipeline import Plan
from nnapi.testing.suite.record import DeviceRun
from nnapi.testing.suite.result import Status, Verdict
from nnapi.testing.suite.selection import Patterns, read_patterns, read_shard
from nnapi.testing.suite.tables import describe_status, write_csv, write_junit

NOUNS = {
    Verdict.REGRESSION: "regression",
    Verdict.IMPROVEMENT: "improvement",
    Verdict.FLAKE: "flake",
    Verdict.KNOWN_FLAKE: "known flake",
}
COLORS = {Verdict.REGRESSION: "bold red", Verdict.IMPROVEMENT: "bold green"}


@dataclass(frozen=True)
class Lists:
    """The files and the shard that select tests and state expectations."""

    baseline: Path | None = None
    flakes: Path | None = None
    skip: Path | None = None
    shard: str = "1/1"
    resume: Path | None = None

    def read(self, run: Mapping[str, Any]) -> Plan:
        """Read the lists. ``run`` describes the run in the file to resume."""
        expectations = Expectations(
            None if self.baseline is None else read_baseline(self.baseline),
            None if self.flakes is None else read_patterns(self.flakes),
        )
        skip = Patterns() if self.skip is None else read_patterns(self.skip)
        shard = read_shard(self.shard)
        return Plan(expectations, shard, skip, None if self.resume is None else Journal(self.resume, run))


@dataclass(frozen=True)
class Outputs:
    """The files to write, and whether to print JSON."""

    as_json: bool = False
    output: Path | None = None
    html: Path | None = None
    junit: Path | None = None
    csv: Path | None = None
    save_baseline: Path | None = None

    def check(self) -> None:
        """Raise Mistake for unusable names."""
        need_page(self.html)

    def write(self, form: str, found: Mapping[str, Any], runs: Sequence[DeviceRun], plan: Plan) -> None:
        """Write the files, and print JSON if that is wanted."""
        if self.output:
            write_json(self.output, form, found)
        if self.html:
            write_text(self.html, results_page(runs))
        if self.junit:
            write_text(self.junit, write_junit(runs))
        if self.csv:
            write_text(self.csv, write_csv(runs))
        if self.save_baseline:
            results = [each.result for run in runs for each in run.results]
            write_baseline(self.save_baseline, results, plan.expectations.baseline)
        if self.as_json:
            print_json(form, found)


def find_versions(devices: Sequence[str] | None) -> dict[str, str] | None:
    """Return the versions of the named devices; raise UnavailableDeviceError if one is absent."""
    return None if devices is None else {name: device(name).version for name in devices}


def results_page(runs: Sequence[DeviceRun]) -> str:
    """Return a page of devices, operations and types, with the reasons behind each cell."""
    return render("check.html.jinja", matrix=make_matrix(runs), statuses=list(Status))


def print_unexpected(out: Console, results: Sequence[Judged]) -> None:
    """Print each result that is not as expected, with its reason."""
    unexpected = [each for verdict in NOUNS for each in results if each.verdict is verdict]
    for each in unexpected:
        color = COLORS.get(each.verdict, "bold yellow")
        out.print(Text.assemble((f"{each.result.test}: ", color), _describe_unexpected(each)))
    if unexpected:
        out.print()


def _describe_unexpected(judged: Judged) -> str:
    status, reason = describe_status(judged), judged.result.reason
    if judged.verdict is Verdict.REGRESSION and status == Status.FAILED and reason:
        return reason
    kind = "" if judged.verdict in COLORS else f"{judged.verdict}, "
    return kind + ": ".join(filter(None, (status, reason)))


def print_verdicts(out: Console, results: Sequence[Judged], plan: Plan, noun: str, failure: str = "failed") -> None:
    """Print the number of failed tests or, with a baseline, of those that are not as expected."""
    counts = Counter(each.verdict for each in results)
    failed = counts[Verdict.REGRESSION]
    words = [pluralize(counts[verdict], name) for verdict, name in NOUNS.items() if counts[verdict]]
    if plan.expectations.baseline is None:
        out.print(f"[red]{pluralize(failed, noun)} {failure}[/]" if failed else f"[green]no {noun} {failure}[/]")
        words = words[bool(failed) :]
    elif not failed and not counts[Verdict.IMPROVEMENT]:
        out.print(f"[green]all {noun}s are as the baseline expects[/]")
    if words:
        out.print(f"[yellow]{', '.join(words)}[/]")


def exit_if_unexpected(results: Sequence[Judged]) -> None:
    if any(each.is_unexpected for each in results):
        raise typer.Exit(ExitCode.DIFFERENT)
