"""Compare two sets of results: the tests that became better or worse."""

from collections.abc import Sequence
from dataclasses import dataclass

from nnapi.testing.suite.record import DeviceRun, merge_runs
from nnapi.testing.suite.result import SEVERITY, Result


@dataclass(frozen=True)
class Change:
    """A test of a device with another status, or with the same fault for another reason."""

    device: str
    before: Result
    after: Result

    @property
    def is_worse(self) -> bool:
        return SEVERITY[self.after.status] > SEVERITY[self.before.status]

    @property
    def is_better(self) -> bool:
        return SEVERITY[self.after.status] < SEVERITY[self.before.status]


@dataclass(frozen=True)
class Comparison:
    """The changes of tests that both sets have, the number of these tests, and the tests in one set only."""

    changes: Sequence[Change]
    compared: int
    removed: Sequence[str]
    added: Sequence[str]

    @property
    def worse(self) -> list[Change]:
        return [change for change in self.changes if change.is_worse]

    @property
    def better(self) -> list[Change]:
        return [change for change in self.changes if change.is_better]

    @property
    def others(self) -> list[Change]:
        return [change for change in self.changes if not change.is_better and not change.is_worse]


def compare_runs(before: Sequence[DeviceRun], after: Sequence[DeviceRun]) -> Comparison:
    """Compare the results of the same devices; if both sets have one device, its name may have changed."""
    old, new = ({run.device: run.results for run in merge_runs(runs)} for runs in (before, after))
    if len(old) == len(new) == 1:
        (device,) = new
        old = {device: next(iter(old.values()))}
    earlier, later = (
        {(device, each.result.test): each.result for device, results in side.items() for each in results}
        for side in (old, new)
    )
    shared = [key for key in earlier if key in later]
    changes = [Change(key[0], earlier[key], later[key]) for key in shared if _differs(earlier[key], later[key])]
    removed, added = (
        [f"{device}: {test}" for device, test in these if (device, test) not in those]
        for these, those in ((earlier, later), (later, earlier))
    )
    return Comparison(changes, len(shared), removed, added)


def _differs(before: Result, after: Result) -> bool:
    return (before.status, before.reason) != (after.status, after.reason)
