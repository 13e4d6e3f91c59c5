"""A record of trials in words, for ``explain``."""

from __future__ import annotations

from nnapi.runtime.choice.evidence import Evidence
from nnapi.runtime.choice.knowledge import Record
from nnapi.runtime.planning.plan import Alternative


def describe(record: Record) -> tuple[tuple[Alternative, ...], tuple[str, ...]]:
    """Return the compared plans, the fastest first, and a note on each."""
    seconds = record.seconds or 0.0
    found, notes = [], []
    for each in record.comparisons:
        evidence = Evidence(each.logs)
        measured = seconds / evidence.ratio if each.logs and not each.reason else None
        found.append(Alternative(each.description, each.predicted, measured))
        notes.append(f"{each.description}: {each.reason or f'{each.standing} ({evidence.describe()})'}")
    found.sort(key=lambda other: (other.measured is None, other.measured or other.seconds))
    return tuple(found), tuple(notes)
