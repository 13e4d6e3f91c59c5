"""Arguments of an operation that fit each other: dimensions, axes, blocks, lists.

Values that a :class:`Proposal` omits are drawn independently, and the operation's own shape function decides. An
operation without a proposer therefore only needs more attempts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.model.operand import Shape
from nnapi.model.parameter import Several, Slot
from nnapi.testing.random_values import Taste, pick

DIMENSIONS = (1, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 11, 13, 16, 17, 31, 32, 33, 64, 127, 257, 1000)
"""One, small ones, powers of two with their neighbors, primes, large ones."""
MOST = 40_000
"""Elements of the largest tensor that is drawn."""


@dataclass
class Proposal:
    """Dimensions of tensors, values of scalars and lists, scales and zero points, all by parameters' names.

    ``omitted`` names the optional parameters that are omitted, ``present`` those that are present. ``outputs`` is the
    number of outputs, if the arguments decide it.
    """

    shapes: dict[str, Shape] = field(default_factory=dict)
    scalars: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    quantization: dict[str, tuple[float, int]] = field(default_factory=dict)
    omitted: set[str] = field(default_factory=set)
    present: set[str] = field(default_factory=set)
    outputs: int | None = None


class Draw:
    """The source of a proposal: the parameters that are present, the overload's name, the taste, chance."""

    def __init__(self, form: str, slots: Iterable[Slot], taste: Taste, rng: np.random.Generator) -> None:
        slots = tuple(slots)
        self.form, self.taste, self.rng = form, taste, rng
        self.names = frozenset(slot.name for slot in slots)
        self.required = {slot.name for slot in slots if isinstance(slot, Several) or not slot.optional}

    def pick(self, *choices: Any) -> Any:
        return pick(self.rng, choices)

    def upto(self, most: int) -> int:
        """A number from 0 to ``most``."""
        return int(self.rng.integers(most + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def dimension(self, most: int = 1000) -> int:
        return int(self.pick(*(dimension for dimension in DIMENSIONS if dimension <= most)))

    def shape(self, *ranks: int) -> Shape:
        """Return the dimensions of the first tensor: the given ones, or any with few enough elements."""
        ranks = ranks or (1, 2, 3, 4)
        given = self.need_rank(*ranks)
        return self.bound(tuple(self.dimension() for _ in range(self.pick(*ranks)))) if given is None else given

    def need_rank(self, *ranks: int) -> Shape | None:
        """Return the dimensions of the first tensor, if they are fixed; raises BadDataError for a wrong rank."""
        given = self.taste.given
        need(given is None or len(given) in ranks, f"the tensor does not have a rank of {ranks}", BadDataError)
        return given

    def bound(self, shape: Shape, most: int = MOST) -> Shape:
        """Return the dimensions, the largest of them reduced until there are few enough elements."""
        dimensions = list(shape)
        while math.prod(dimensions) > most:
            largest = dimensions.index(max(dimensions))
            dimensions[largest] = dimensions[largest] // 2
        return tuple(dimensions)

    def axis(self, rank: int) -> int:
        """Return an axis, sometimes counted from the end."""
        axis = self.upto(rank - 1)
        return axis - rank if self.chance(0.3) else axis

    def store(self, shape: Shape, *, channels_first: bool) -> Shape:
        """Dimensions of an NHWC image as they are stored."""
        return (shape[0], shape[3], shape[1], shape[2]) if channels_first else shape

    def layout(self, proposal: Proposal) -> bool:
        """Draw the layout, where there is one."""
        channels_first = "layout" in self.names and self.chance(0.4)
        if "layout" in self.names:
            proposal.scalars["layout"] = channels_first
        return channels_first

    def image(self, proposal: Proposal, name: str = "input", **dimensions: int) -> Shape:
        """An NHWC image of any dimensions that are not given here, noted down as it is stored."""
        channels_first = self.layout(proposal)
        given = self.need_rank(4)
        if given is not None:
            shape = (given[0], given[2], given[3], given[1]) if channels_first else given
        else:
            n, h, w, c = self.dimension(7), self.dimension(), self.dimension(), self.dimension()
            shape = (dimensions.get("n", n), dimensions.get("h", h), dimensions.get("w", w), dimensions.get("c", c))
            shape = self.bound(shape)
        proposal.shapes[name] = self.store(shape, channels_first=channels_first)
        return shape


Proposer = Callable[[Draw], Proposal]
PROPOSERS: dict[str, Proposer] = {}


def proposes(*operations: str) -> Callable[[Proposer], Proposer]:
    """Register a function that draws the arguments of operations."""

    def register(proposer: Proposer) -> Proposer:
        PROPOSERS.update(dict.fromkeys(operations, proposer))
        return proposer

    return register
