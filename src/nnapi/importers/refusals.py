"""Refusals of operations that NNAPI cannot express, and the error that lists them."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

from nnapi.errors import BadDataError


class Refused(Exception):
    """NNAPI cannot express an operation, for all of ``reasons``; ``reason`` is the first."""

    def __init__(self, reason: str, *further: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.reasons = (reason, *further)


class EmptyResult(Refused):
    """The result of an operation has no elements, so no operation of NNAPI gives it."""

    def __init__(self) -> None:
        super().__init__("its result has no elements")


def need_elements(condition: object) -> None:
    if not condition:
        raise EmptyResult


def expressible(condition: object, reason: str) -> None:
    if not condition:
        raise Refused(reason)


def explain_missing_rule(package: str, kind: str) -> str:
    """Return why an operation has no rule; ``inexpressible.REASONS`` in the package of the rules has known reasons."""
    reasons: Mapping[str, str] = import_module(f"{package}.inexpressible").REASONS
    return reasons.get(kind, "NNAPI has no such operation")


class Refusal(NamedTuple):
    """A refused operation: its kind, the name of the tensor that it writes, and the reason."""

    operation: str
    name: str
    reason: str


class UnsupportedOperationsError(BadDataError):
    """A file uses operations that NNAPI cannot express; ``refusals`` lists them."""

    def __init__(self, message: str, refusals: Sequence[Refusal] = ()) -> None:
        super().__init__(message)
        self.refusals = tuple(refusals)

    @classmethod
    def of(cls, name: str, refusals: Sequence[Refusal]) -> "UnsupportedOperationsError":
        """Return the error of the file ``name``; its message groups operations by kind and reason."""
        groups: dict[tuple[str, str], list[str]] = {}
        for refusal in refusals:
            groups.setdefault((refusal.operation, refusal.reason), []).append(refusal.name)
        parts = [f"{kind} ×{len(names)} ({', '.join(names)}: {reason})" for (kind, reason), names in groups.items()]
        return cls(f"{name} uses operations that NNAPI cannot express: {', '.join(parts)}", refusals)
