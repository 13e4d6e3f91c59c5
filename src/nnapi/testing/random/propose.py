"""Proposals of arguments that fit each other, for any operation."""

from __future__ import annotations

from nnapi.testing.random import boxes, cells, elements, moves, windows
from nnapi.testing.random.proposal import PROPOSERS, Draw, Proposal

FAMILIES = (boxes, cells, elements, moves, windows)


def propose(operation: str, draw: Draw) -> Proposal:
    """Return a proposal for a call; an empty one for operations that have no rule."""
    return PROPOSERS[operation](draw) if operation in PROPOSERS else Proposal()
