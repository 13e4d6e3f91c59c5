"""Proposals: arguments of an operation that fit each other. All other arguments are drawn independently."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nnapi.codes import PaddingCode
from nnapi.errors import BadDataError, need
from nnapi.model.operand import Shape
from nnapi.model.parameter import Several, Slot, TensorParameter
from nnapi.testing.random.values import Ranges, pick

DIMENSIONS = (1, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 11, 13, 16, 17, 31, 32, 33, 64, 127, 257, 1000)
"""The dimensions to draw from: 1, small numbers, powers of two and their neighbors, primes, large numbers."""
MOST = 40_000
"""The largest number of elements of a tensor that is drawn."""


@dataclass
class Proposal:
    """Dimensions, scalars, lists and quantization by parameter name; ``outputs`` is the number of outputs."""

    shapes: dict[str, Shape] = field(default_factory=dict)
    scalars: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    quantization: dict[str, tuple[float, int]] = field(default_factory=dict)
    omitted: set[str] = field(default_factory=set)
    present: set[str] = field(default_factory=set)
    outputs: int | None = None


class Draw:
    """The data that a proposal is drawn from: overload, names of its parameters, ranges and random generator."""

    def __init__(self, overload: str, slots: Iterable[Slot], ranges: Ranges, rng: np.random.Generator) -> None:
        slots = tuple(slots)
        self.overload, self.ranges, self.rng = overload, ranges, rng
        self.proposal = Proposal()
        self.names = frozenset(slot.name for slot in slots)
        self.tensors = [slot.name for slot in slots if isinstance(slot, TensorParameter)]
        self.required = {slot.name for slot in slots if isinstance(slot, Several) or not slot.optional}

    def pick(self, *choices: Any) -> Any:
        return pick(self.rng, choices)

    def upto(self, most: int) -> int:
        return int(self.rng.integers(most + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def dimension(self, most: int = 1000) -> int:
        return int(self.pick(*(dimension for dimension in DIMENSIONS if dimension <= most)))

    def shape(self, *ranks: int) -> Shape:
        """Return the dimensions of the first tensor: given ones, or new ones of one of these ranks."""
        ranks = ranks or (1, 2, 3, 4)
        given = self.need_rank(*ranks)
        return self.bound(tuple(self.dimension() for _ in range(self.pick(*ranks)))) if given is None else given

    def need_rank(self, *ranks: int) -> Shape | None:
        """Return the given dimensions of the first tensor, None without any; raise BadDataError for a wrong rank."""
        given = self.ranges.given
        need(given is None or len(given) in ranks, f"the tensor does not have a rank of {ranks}", BadDataError)
        return given

    def bound(self, shape: Shape, most: int = MOST) -> Shape:
        """Halve the largest dimension until the tensor has at most ``most`` elements; return the dimensions."""
        dimensions = list(shape)
        while math.prod(dimensions) > most:
            largest = dimensions.index(max(dimensions))
            dimensions[largest] = dimensions[largest] // 2
        return tuple(dimensions)

    def axis(self, rank: int) -> int:
        """Return an axis, sometimes counted from the end."""
        axis = self.upto(rank - 1)
        return axis - rank if self.chance(0.3) else axis

    def draw_layout(self) -> None:
        """Draw the layout, if the operation has a layout flag."""
        if "layout" in self.names:
            self.proposal.scalars["layout"] = self.chance(self.ranges.nchw)

    def store(self, shape: Shape) -> Shape:
        """Return the stored dimensions of an image, given as NHWC: NCHW if this layout was drawn."""
        return (shape[0], shape[3], shape[1], shape[2]) if self.proposal.scalars.get("layout") else shape

    def padding_scheme(self) -> int | None:
        """Draw the scheme of implicit padding; None in an overload with explicit padding."""
        if self.overload != "implicit_padding":
            return None
        scheme = int(self.pick(PaddingCode.PADDING_SAME, PaddingCode.PADDING_VALID))
        self.proposal.scalars["padding_scheme"] = scheme
        return scheme

    def given_image(self) -> Shape | None:
        """Return the dimensions of the first tensor as NHWC; None if they are not given."""
        given = self.need_rank(4)
        return (given[0], given[2], given[3], given[1]) if given and self.proposal.scalars.get("layout") else given

    def image(self, name: str = "input", **dimensions: int) -> Shape:
        """Propose an NHWC image; draw the dimensions that are not in ``dimensions``. Return its dimensions."""
        self.draw_layout()
        shape = self.given_image()
        if shape is None:
            drawn = {"n": self.dimension(7), "h": self.dimension(), "w": self.dimension(), "c": self.dimension()}
            shape = self.bound(tuple((drawn | dimensions).values()))
        self.proposal.shapes[name] = self.store(shape)
        return shape


Proposer = Callable[[Draw], Proposal]
PROPOSERS: dict[str, Proposer] = {}


def proposes(*operations: str) -> Callable[[Proposer], Proposer]:
    def register(proposer: Proposer) -> Proposer:
        PROPOSERS.update(dict.fromkeys(operations, proposer))
        return proposer

    return register
