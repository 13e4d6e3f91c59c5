"""Results as a table of devices, operations and types, with the reasons behind each cell."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from nnapi.testing.suite.expectations import Judged
from nnapi.testing.suite.record import DeviceRun, merge_runs
from nnapi.testing.suite.result import FAULTS, Result, Status

OTHER = "other"


@dataclass(frozen=True)
class Reason:
    """The tests with the same status and reason."""

    status: Status
    reason: str
    tests: Sequence[str]


@dataclass(frozen=True)
class Cell:
    """The results of a device for an operation and a type."""

    device: str
    operation: str
    type: str
    counts: Counter[Status]
    reasons: Sequence[Reason]
    """The reasons for faults and refusals, the most frequent first."""
    anchor: str

    @property
    def kind(self) -> str:
        """Return the class of the cell: ``fault``, ``flaky``, ``skipped``, ``partial`` or ``passed``."""
        if any(self.counts[status] for status in FAULTS):
            return "fault"
        if self.counts[Status.FLAKY]:
            return "flaky"
        if not self.counts[Status.SKIPPED]:
            return "passed"
        return "partial" if self.counts[Status.PASSED] else "skipped"


@dataclass(frozen=True)
class Row:
    operation: str
    type: str
    cells: Sequence[Cell | None]
    """A cell for each device; None if no test ran."""


@dataclass(frozen=True)
class Matrix:
    devices: Sequence[str]
    totals: Sequence[Counter[Status]]
    """The results of each device."""
    rows: Sequence[Row]

    @property
    def cells(self) -> list[Cell]:
        return [cell for row in self.rows for cell in row.cells if cell is not None]


def make_matrix(runs: Sequence[DeviceRun]) -> Matrix:
    """Return the table. A test counts for each operation that it tests, and in the total once."""
    merged = merge_runs(runs)
    found: defaultdict[tuple[str, str], dict[int, list[Result]]] = defaultdict(dict)
    for column, run in enumerate(merged):
        for operation, result in _by_operation(run.results):
            found[operation, result.type].setdefault(column, []).append(result)
    rows = []
    for number, ((operation, type), columns) in enumerate(sorted(found.items())):
        cells = [
            _cell(run.device, operation, type, columns[column], f"r{number}d{column}") if column in columns else None
            for column, run in enumerate(merged)
        ]
        rows.append(Row(operation, type, cells))
    totals = [Counter(each.result.status for each in run.results) for run in merged]
    return Matrix([run.device for run in merged], totals, rows)


def _by_operation(results: Sequence[Judged]) -> list[tuple[str, Result]]:
    return [(name, each.result) for each in results for name in dict.fromkeys(each.result.operations or (OTHER,))]


def _cell(device: str, operation: str, type: str, results: Sequence[Result], anchor: str) -> Cell:
    reasons: defaultdict[tuple[Status, str], list[str]] = defaultdict(list)
    for result in results:
        if result.status is not Status.PASSED:
            reasons[result.status, result.reason].append(result.test)
    ordered = sorted(reasons.items(), key=lambda item: (item[0][0] == Status.SKIPPED, -len(item[1]), item[0]))
    found = [Reason(status, reason, tests) for (status, reason), tests in ordered]
    return Cell(device, operation, type, Counter(result.status for result in results), found, anchor)
