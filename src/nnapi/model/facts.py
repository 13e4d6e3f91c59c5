"""What is true of an operation on any device besides its signature: what it costs like, what it does with numbers."""

from __future__ import annotations

from enum import Flag, StrEnum, auto
from typing import NamedTuple


class Kind(StrEnum):
    """Operations that cost alike."""

    CONVOLUTION = "convolution"
    DEPTHWISE = "depthwise convolution"
    PRODUCT = "matrix product"
    RECURRENT = "recurrent"
    ELEMENTWISE = "elementwise"
    TRANSCENDENTAL = "transcendental"
    REDUCTION = "reduction"
    RESIZE = "resize"
    MOVEMENT = "movement"
    RESHAPE = "reshape"
    OTHER = "other"


class Trait(Flag):
    """What an operation does with numbers. Those that are not said of an operation do not hold."""

    NONE = 0
    FOLDS = auto()
    """It looks at each element once, so that importers compute it where all operands are constants."""
    MOVES = auto()
    """Each element of the result is one of the first tensor's, unchanged, or a filler."""
    RESTATES = auto()
    """The result is the numbers of the first tensor, in the same order, stored in another way."""
    CHOOSES = auto()
    """The result is among the operands, or follows from comparing them: nothing is rounded, or once."""
    REQUANTIZES = auto()
    """It chooses, but may round codes to those of another scale."""
    PAIRS = auto()
    """It computes element by element, and rounds."""
    STEPS = auto()
    """A small difference of an operand may make a large one of the result, element by element."""
    COMPARES = auto()
    """It compares two numbers, and says the same of a NaN on any device."""
    ORDERS = auto()
    """A small difference of an operand may make another result altogether."""
    FEEDS_BACK = auto()
    """It feeds back what it gives, step by step: what moves one element may move any other as far."""
    DRAWS = auto()
    """It draws its result at random."""


class Facts(NamedTuple):
    """``summed`` are those dimensions of the second tensor, the filter, that are summed over for one element of the
    result; None where there is no filter."""

    kind: Kind = Kind.OTHER
    traits: Trait = Trait.NONE
    summed: slice | None = None
