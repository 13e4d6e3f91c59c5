"""Baselines: the results that are expected of a device, in a file that a team keeps beside its driver."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nnapi.errors import UnusableFile
from nnapi.store.files import write_text
from nnapi.testing.suite.result import SEVERITY, Result, Status, Verdict
from nnapi.testing.suite.selection import Patterns, read_text

HEADINGS = ["test", "status", "reason"]
LISTED = tuple(status for status in Status if status not in (Status.PASSED, Status.FLAKY))
"""The statuses that a baseline may expect; other tests are expected to pass."""


class Expected(NamedTuple):
    status: Status
    reason: str


PASS = Expected(Status.PASSED, "")


@dataclass(frozen=True)
class Judged:
    """A result, and how it compares with the expected status."""

    result: Result
    verdict: Verdict
    expected: Status

    @property
    def is_unexpected(self) -> bool:
        return self.verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT)


@dataclass(frozen=True)
class Expectations:
    """The expected statuses by test (None without a baseline), and the known flakes (None if tests run once)."""

    baseline: Mapping[str, Expected] | None = None
    flakes: Patterns | None = None

    def judge(self, result: Result) -> Judged:
        expected = (self.baseline or {}).get(result.test, PASS).status
        return Judged(result, self._compare(result, expected), expected)

    def _compare(self, result: Result, expected: Status) -> Verdict:
        is_known = self.flakes is not None and self.flakes.match(result.example, result.variant, result.operations)
        if result.status is Status.FLAKY:
            return Verdict.KNOWN_FLAKE if is_known else Verdict.FLAKE
        if result.status is expected or (self.baseline is None and result.status is Status.SKIPPED):
            return Verdict.EXPECTED
        if is_known:
            return Verdict.KNOWN_FLAKE
        is_better = SEVERITY[result.status] < SEVERITY[expected]
        return Verdict.IMPROVEMENT if is_better else Verdict.REGRESSION


def read_baseline(file: Path) -> dict[str, Expected]:
    """Read a baseline: lines of test, status and reason. Lines that begin with ``#`` are comments."""
    lines = [line for line in read_text(file).splitlines() if line and not line.startswith("#")]
    found: dict[str, Expected] = {}
    for row in csv.reader(lines[1:] if lines[:1] == [",".join(HEADINGS)] else lines):
        try:
            test, status, *reason = row
            expected = Expected(Status(status.strip()), reason[0] if reason else "")
        except ValueError:
            raise UnusableFile(f"{file}: not a line of a baseline (test,status,reason): {','.join(row)[:80]}") from None
        if expected.status not in LISTED:
            raise UnusableFile(f"{file}: {test} cannot be expected to be {status}; possible: {', '.join(LISTED)}")
        if test in found:
            raise UnusableFile(f"{file}: {test} is listed twice")
        found[test] = expected
    return found


def write_baseline(file: Path, results: Iterable[Result], before: Mapping[str, Expected] | None) -> None:
    """Write the faults and refusals among the results. Of the baseline ``before``, entries of other tests and of flakes
    stay, and so do the reasons of tests with the same status."""
    found = dict(before or {})
    for result in results:
        known = found.get(result.test)
        if result.status is Status.FLAKY or (known is not None and known.status is result.status):
            continue
        found.pop(result.test, None)
        if result.status in LISTED:
            found[result.test] = Expected(result.status, " ".join(result.reason.split()))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADINGS)
    writer.writerows((test, *found[test]) for test in sorted(found))
    write_text(file, text.getvalue())
