"""``nnapi check FILE.json``: run the W3C's tests of WebNN's operators."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from nnapi.cli.check_examples import collect
from nnapi.cli.check_lists import Lists, Outputs, exit_if_unexpected, find_versions, print_unexpected, print_verdicts
from nnapi.cli.printing import console, count_table
from nnapi.errors import Mistake
from nnapi.printable import pluralize
from nnapi.testing.suite.expectations import Judged
from nnapi.testing.suite.pipeline import Plan
from nnapi.testing.suite.record import DeviceRun, describe_judged, name_devices
from nnapi.testing.suite.result import Result
from nnapi.testing.webnn.cases import Case, read_cases
from nnapi.testing.webnn.verdicts import WebnnSuite, WebnnVerdict


def check_webnn(
    path: Path,
    devices: list[str] | None,
    pattern: str | None,
    jobs: int,
    patience: float,
    lists: Lists,
    outputs: Outputs,
) -> None:
    versions = find_versions(devices)
    cases = [case for case in read_cases(path) if pattern is None or _matches(case, pattern)]
    if not cases:
        raise Mistake(f"{path}: no test is named {pattern}")
    plan = lists.read({"tests": str(path.absolute()), "device": versions})
    suite = WebnnSuite(cases, None if devices is None else tuple(devices), patience)
    judged = collect(suite, plan, jobs, len(cases))
    found = describe_outcomes([each.result for each in judged], path, devices)
    found["results"] = describe_judged(judged)
    outputs.write("check-webnn", found, [DeviceRun(name_devices(devices), judged)], plan)
    if not outputs.as_json:
        _print(console(), judged, plan)
    exit_if_unexpected(judged)


def _matches(case: Case, pattern: str) -> bool:
    if any(sign in pattern for sign in "*?["):
        return fnmatchcase(case.name, pattern)
    return pattern == case.operator or pattern in case.name


def _count_by_operator(results: Sequence[Result]) -> dict[str, Counter[WebnnVerdict]]:
    counts: defaultdict[str, Counter[WebnnVerdict]] = defaultdict(Counter)
    for result in results:
        counts[result.operations[0]][WebnnVerdict(result.outcome)] += 1
    return dict(sorted(counts.items()))


def describe_outcomes(results: Sequence[Result], path: Path, devices: list[str] | None) -> dict[str, Any]:
    """Return the outcomes as JSON; ``device`` is null if the runtime chose the devices."""
    return {
        "device": ",".join(devices) if devices else None,
        "corpus": str(path),
        "operators": {
            name: {"total": count.total(), **{str(verdict): count[verdict] for verdict in WebnnVerdict}}
            for name, count in _count_by_operator(results).items()
        },
        "failures": [
            {"name": result.example, "verdict": result.outcome, "reason": result.reason}
            for result in results
            if result.reason
        ],
    }


def _print(out: Console, judged: Sequence[Judged], plan: Plan) -> None:
    results = [each.result for each in judged]
    counts = _count_by_operator(results)
    out.print(count_table("operator", {**counts, "all": sum(counts.values(), Counter[WebnnVerdict]())}, WebnnVerdict))
    out.print()
    refused = [result for result in results if result.outcome == WebnnVerdict.REFUSED]
    reasons = Counter(f"{result.operations[0]}: {result.reason}" for result in refused)
    for reason, count in reasons.most_common():
        out.print(Text(f"{pluralize(count, 'test')} refused, {reason}", "yellow"))
    print_unexpected(out, judged)
    print_verdicts(out, judged, plan, "test", "wrong")
