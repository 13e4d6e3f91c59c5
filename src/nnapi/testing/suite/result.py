"""Results of tests, and verdicts on their difference from the expected results."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """The devices refuse the model."""
    CRASHED = "crashed"
    """The process that ran the test ended."""
    TIMED_OUT = "timed out"
    FLAKY = "flaky"
    """A second run gave another status."""


class Verdict(StrEnum):
    EXPECTED = "expected"
    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    FLAKE = "flake"
    KNOWN_FLAKE = "known flake"


SEVERITY = {
    Status.PASSED: 0,
    Status.SKIPPED: 1,
    Status.FLAKY: 2,
    Status.FAILED: 3,
    Status.TIMED_OUT: 4,
    Status.CRASHED: 4,
}
"""Statuses of lower severity are better; a crash and a timeout are equally bad."""

FAULTS = frozenset({Status.FAILED, Status.CRASHED, Status.TIMED_OUT})


@dataclass(frozen=True)
class Result:
    """The result of one variant of one example. ``reason`` explains any status but a pass."""

    file: str
    example: str
    operations: tuple[str, ...]
    variant: str
    status: Status
    reason: str = ""
    seconds: float = 0.0
    type: str = ""
    """The type of the tested operation's first input."""
    outcome: str = ""
    """The suite's own word for the status, such as ``bit-equal``."""

    @property
    def test(self) -> str:
        return name_test(self.example, self.variant)


def name_test(example: str, variant: str) -> str:
    """Return the name of a test in lists and files: EXAMPLE/VARIANT, or EXAMPLE in suites without variants."""
    return f"{example}/{variant}" if variant else example


def describe_result(result: Result) -> dict[str, Any]:
    return {each.name: getattr(result, each.name) for each in fields(Result)}


def result_from(described: Mapping[str, Any]) -> Result:
    """Return the result that `describe_result` described. Raises KeyError, TypeError or ValueError for other values."""
    values = {each.name: described[each.name] for each in fields(Result)}
    return Result(**values | {"operations": tuple(values["operations"]), "status": Status(values["status"])})
