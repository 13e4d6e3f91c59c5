"""Refusals of what NNAPI cannot express: the exception that rules raise, and the one error that lists all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nnapi.errors import BadDataError


class Refused(Exception):
    """An operation of the file cannot be expressed; ``reason`` says why, ``reasons`` all that was found."""

    def __init__(self, reason: str, *further: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.reasons = (reason, *further)


def expressible(condition: object, reason: str) -> None:
    """Raise Refused unless the condition holds."""
    if not condition:
        raise Refused(reason)


class Refusal(NamedTuple):
    """An operation of the file that NNAPI cannot express: its kind, the tensor it writes, and why not."""

    operation: str
    name: str
    reason: str


class UnsupportedOperationsError(BadDataError):
    """A file uses operations that NNAPI cannot express; ``refusals`` has one entry for each of them."""

    def __init__(self, message: str, refusals: Sequence[Refusal] = ()) -> None:
        super().__init__(message)
        self.refusals = tuple(refusals)

    @classmethod
    def of(cls, name: str, refusals: Sequence[Refusal]) -> UnsupportedOperationsError:
        """The error of the file ``name``: its message groups the operations by kind and reason."""
        groups: dict[tuple[str, str], list[str]] = {}
        for refusal in refusals:
            groups.setdefault((refusal.operation, refusal.reason), []).append(refusal.name)
        parts = [f"{kind} ×{len(names)} ({', '.join(names)}: {reason})" for (kind, reason), names in groups.items()]
        return cls(f"{name} uses operations that NNAPI cannot express: {', '.join(parts)}", refusals)
