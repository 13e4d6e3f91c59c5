"""Proposals: arguments of an operation that fit each other, for random tests. All others are drawn independently."""

from __future__ import annotations  # NumPy imports its random module at first use

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from nnapi.codes import PaddingCode
from nnapi.errors import BadDataError, need
from nnapi.model.operand import Shape
from nnapi.model.parameter import Several, Slot, TensorParameter

DIMENSIONS = (1, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 11, 13, 16, 17, 31, 32, 33, 64, 127, 257, 1000)
"""The dimensions to draw from: 1, small numbers, powers of two and their neighbors, primes, large numbers."""
MOST = 40_000
"""The largest number of elements of a tensor that is drawn."""


class Proposal:
    """Dimensions, scalars, lists and quantization by parameter name; ``outputs`` is the number of outputs.

    Not a dataclass, because every process imports this module, and making one takes longer than all else in it.
    """

    def __init__(
        self,
        shapes: dict[str, Shape] | None = None,
        scalars: dict[str, Any] | None = None,
        numbers: dict[str, Any] | None = None,
        outputs: int | None = None,
    ) -> None:
        self.shapes = {} if shapes is None else shapes
        self.scalars = {} if scalars is None else scalars
        self.numbers = {} if numbers is None else numbers
        self.quantization: dict[str, tuple[float, int]] = {}
        self.omitted: set[str] = set()
        self.present: set[str] = set()
        self.outputs = outputs


class Draw:
    """The data that a proposal is drawn from: overload, names of its parameters, and the random generator.

    ``given`` are the dimensions of the first tensor, if it exists already. ``points`` is the share of windows of 1 × 1,
    which engines compute as matrix products, ``nchw`` that of images in NCHW, and ``spatial`` that of paddings of
    images that leave batches and channels alone. ``is_high`` asks for ranks beyond NNAPI's.
    """

    def __init__(
        self,
        overload: str,
        slots: Iterable[Slot],
        rng: np.random.Generator,
        *,
        given: Shape | None = None,
        points: float = 0.2,
        nchw: float = 0.4,
        spatial: float = 0.5,
        is_high: bool = False,
    ) -> None:
        slots = tuple(slots)
        self.overload, self.rng, self.given = overload, rng, given
        self.points, self.nchw, self.spatial, self.is_high = points, nchw, spatial, is_high
        self.proposal = Proposal()
        self.names = frozenset(slot.name for slot in slots)
        self.tensors = [slot.name for slot in slots if isinstance(slot, TensorParameter)]
        parameters = (slot.parameter if isinstance(slot, Several) else slot for slot in slots)
        self.high = next((each.ranks_beyond for each in parameters if isinstance(each, TensorParameter)), ())
        self.required = {slot.name for slot in slots if isinstance(slot, Several) or not slot.optional}

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def upto(self, most: int) -> int:
        return int(self.rng.integers(most + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def dimension(self, most: int = 1000) -> int:
        return int(self.pick(*(dimension for dimension in DIMENSIONS if dimension <= most)))

    def shape(self, *ranks: int) -> Shape:
        """Return the dimensions of the first tensor: given ones, or new ones of one of these ranks."""
        high = () if ranks else self.high
        ranks = ranks or (1, 2, 3, 4)
        given = self.need_rank(*ranks, *high)
        ranks = high if high and self.is_high else ranks
        return self.bound(tuple(self.dimension() for _ in range(self.pick(*ranks)))) if given is None else given

    def need_rank(self, *ranks: int) -> Shape | None:
        """Return the given dimensions of the first tensor, None without any; raise BadDataError for a wrong rank."""
        given = self.given
        need(given is None or len(given) in ranks, f"the tensor does not have a rank of {ranks}", BadDataError)
        return given

    def bound(self, shape: Shape, most: int = MOST) -> Shape:
        """Halve the largest dimension until the tensor has at most ``most`` elements; return the dimensions."""
        dimensions = list(shape)
        while math.prod(dimensions) > most:
            largest = dimensions.index(max(dimensions))
            dimensions[largest] = dimensions[largest] // 2
        return tuple(dimensions)

    def divisible(self, shape: Shape, count: int) -> tuple[Shape, int]:
        """Draw an axis; unless the shape is given, make it divisible by ``count`` along this axis."""
        axis = self.axis(len(shape))
        if self.given is None:
            shape = tuple(e * count if i == axis % len(shape) else e for i, e in enumerate(self.bound(shape, 5000)))
        return shape, axis

    def counts(self, *names: str) -> dict[str, Any]:
        return {name: self.pick(1, 2, 5, 20) for name in names}

    def shares(self, *names: str) -> dict[str, Any]:
        return {name: float(self.rng.uniform(0, 1)) for name in names if name in self.names}

    def axis(self, rank: int) -> int:
        """Return an axis, sometimes counted from the end."""
        axis = self.upto(rank - 1)
        return axis - rank if self.chance(0.3) else axis

    def draw_layout(self) -> None:
        """Draw the layout, if the operation has a layout flag."""
        if "layout" in self.names:
            self.proposal.scalars["layout"] = self.chance(self.nchw)

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


def propose_equal_shapes(draw: Draw) -> Proposal:
    return Proposal(dict.fromkeys(draw.tensors, draw.shape()))


def propose_along_axis(draw: Draw) -> Proposal:
    shape = draw.shape()
    return Proposal({"input": shape}, {"axis": draw.axis(len(shape))})
