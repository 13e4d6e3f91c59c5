"""``nnapi check FILE.json``: run the W3C's tests of WebNN's operators."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from nnapi.cli.failure import ExitCode
from nnapi.cli.printing import console, count_table, print_json, write_json
from nnapi.cli.progress import progress
from nnapi.errors import Mistake
from nnapi.printable import pluralize
from nnapi.runtime.device import device as find_device
from nnapi.testing.webnn.cases import Case, read_cases
from nnapi.testing.webnn.verdicts import Outcome, WebnnVerdict, run


def check_webnn(path: Path, devices: list[str] | None, pattern: str | None, as_json: bool, output: Path | None) -> None:
    for name in devices or ():
        find_device(name)
    cases = [case for case in read_cases(path) if pattern is None or _matches(case, pattern)]
    if not cases:
        raise Mistake(f"{path}: no test is named {pattern}")
    outcomes = []
    with progress(console(), len(cases)) as step:
        for outcome in run(cases, devices):
            step(outcome.case.name)
            outcomes.append(outcome)
    found = describe_outcomes(outcomes, path, devices)
    if output:
        write_json(output, "check-webnn", found)
    if as_json:
        print_json("check-webnn", found)
    else:
        _print(console(), outcomes)
    if any(outcome.verdict == WebnnVerdict.WRONG for outcome in outcomes):
        raise typer.Exit(ExitCode.DIFFERENT)


def _matches(case: Case, pattern: str) -> bool:
    if any(sign in pattern for sign in "*?["):
        return fnmatchcase(case.name, pattern)
    return pattern == case.operator or pattern in case.name


def count_by_operator(outcomes: Sequence[Outcome]) -> dict[str, Counter[WebnnVerdict]]:
    counts: defaultdict[str, Counter[WebnnVerdict]] = defaultdict(Counter)
    for outcome in outcomes:
        counts[outcome.case.operator][outcome.verdict] += 1
    return dict(sorted(counts.items()))


def describe_outcomes(outcomes: Sequence[Outcome], path: Path, devices: list[str] | None) -> dict[str, Any]:
    """Return the outcomes as JSON; ``device`` is null if the runtime chose the devices."""
    return {
        "device": ",".join(devices) if devices else None,
        "corpus": str(path),
        "operators": {
            name: {"total": count.total(), **{str(verdict): count[verdict] for verdict in WebnnVerdict}}
            for name, count in count_by_operator(outcomes).items()
        },
        "failures": [
            {"name": outcome.case.name, "verdict": str(outcome.verdict), "reason": outcome.reason}
            for outcome in outcomes
            if outcome.reason
        ],
    }


def _print(out: Console, outcomes: Sequence[Outcome]) -> None:
    counts = count_by_operator(outcomes)
    total = sum(counts.values(), Counter[WebnnVerdict]())
    out.print(count_table("operator", {**counts, "all": total}, WebnnVerdict))
    out.print()
    reasons = Counter(
        f"{outcome.case.operator}: {outcome.reason}" for outcome in outcomes if outcome.verdict == WebnnVerdict.REFUSED
    )
    for reason, count in reasons.most_common():
        out.print(Text(f"{pluralize(count, 'test')} refused, {reason}", "yellow"))
    for outcome in outcomes:
        if outcome.verdict == WebnnVerdict.WRONG:
            out.print(Text.assemble((f"{outcome.case.name}: ", "bold red"), outcome.reason))
    wrong = total[WebnnVerdict.WRONG]
    out.print(f"[red]{pluralize(wrong, 'test')} wrong[/]" if wrong else "[green]no test wrong[/]")
