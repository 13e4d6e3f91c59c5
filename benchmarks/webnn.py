"""Run the W3C's tests of WebNN, and print what becomes of each operator.

    python -m benchmarks.webnn FOLDER > docs/webnn.md

FOLDER has the W3C's tests as JSON files. `nnapi check FOLDER` judges them on other devices.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from nnapi import load
from nnapi.errors import BadDataError
from nnapi.operation_codes import NAMES
from nnapi.testing.suite.result import Result
from nnapi.testing.webnn.cases import Case, read_cases
from nnapi.testing.webnn.conversion import UnmappedError, convert
from nnapi.testing.webnn.verdicts import WebnnVerdict, check

REFERENCE = ("nnapi-reference",)
INTRODUCTION = """\
# WebNN's operators

<!-- Written by `python -m benchmarks.webnn FOLDER > docs/webnn.md`. -->

WebNN is the W3C's interface for inference in browsers. The W3C publishes tests of each operator, with tolerances.
`nnapi check FOLDER` converts each test to ONNX, as browsers do, imports it and judges the result. The table counts the
tests of each operator on `nnapi-reference`, and on the devices that the runtime chooses by default. A result is *equal*
if all bits are equal, and *close* if it is within the W3C's tolerance. The last column lists the operations that the
importer makes of the operator's tests; some are [composite](composites.md).

rustnn is another implementation of WebNN. It is reported to pass 1,439 of these 1,479 tests in its browser back end.
[A list](https://gist.github.com/gterzian/95371d56468390177982c068480db95d) names its passes by operator. The part that
could be read, from batchNormalization to hardSwish, equals this table but for clamp (51 tests, here 47) and
convTranspose2d (42, here 38).
Its own status page of January 2026 counts 1,350 tests as right in ONNX Runtime and 129 as skipped. It names those of
batchNormalization, layerNormalization (12 each) and instanceNormalization (8), of which nnapi refuses none.
"""
CANNOT = """
## What NNAPI cannot say

A test is refused for one of these reasons:
"""
SHOWN = (WebnnVerdict.EQUAL, WebnnVerdict.CLOSE, WebnnVerdict.REFUSED)
Counts = dict[str, Counter[WebnnVerdict]]


def find_operations(case: Case) -> list[str]:
    """Return the names of the operations that become of a test; [] if it is refused."""
    try:
        model = load(convert(case).model())
    except (UnmappedError, BadDataError, OverflowError):
        return []
    return [NAMES[call.code] for call in model.operations]


def count(results: Iterable[Result]) -> Counts:
    counts: Counts = defaultdict(Counter)
    for result in results:
        counts[result.operations[0]][WebnnVerdict(result.outcome)] += 1
    return counts


def page(cases: Sequence[Case], reference: Sequence[Result], chosen: Sequence[Result]) -> str:
    """Return the page: a row for each operator, and the reasons of refusals."""
    operations: dict[str, dict[str, None]] = defaultdict(dict)
    for case in cases:
        operations[case.operator].update(dict.fromkeys(find_operations(case)))
    by_device = [count(results) for results in (reference, chosen)]
    headers = [f"{word}{where}" for where in ("", ", default") for word in ("equal", "close", "refused")]
    rows: list[list[object]] = [["operator", "tests", *headers, "operations"], ["---"] * 9]
    for name in sorted(operations):
        numbers = [counts[name][verdict] for counts in by_device for verdict in SHOWN]
        rows.append([name, by_device[0][name].total(), *numbers, ", ".join(sorted(operations[name]))])
    totals = [sum(counts.values(), Counter[WebnnVerdict]()) for counts in by_device]
    rows.append(["**all**", len(cases), *(total[verdict] for total in totals for verdict in SHOWN), ""])
    table = "\n".join(f"| {' | '.join(str(cell) if cell else '' for cell in row)} |" for row in rows)
    wrong = [total[WebnnVerdict.WRONG] for total in totals]
    verdict = f"Of {len(cases)} tests, {wrong[0]} are wrong on `nnapi-reference` and {wrong[1]} on default devices."
    refused = (result for result in reference if result.outcome == WebnnVerdict.REFUSED)
    reasons = Counter(f"{result.operations[0]}: {result.reason}" for result in refused)
    lines = [f"- {reason} ({number})" for reason, number in reasons.most_common()]
    return f"{INTRODUCTION}\n{verdict}\n\n{table}\n{CANNOT}\n" + "\n".join(lines) + "\n"


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    cases = read_cases(parser.parse_args(words).folder)
    print(page(cases, *([check(case, devices) for case in cases] for devices in (REFERENCE, None))), end="")


if __name__ == "__main__":
    main()
