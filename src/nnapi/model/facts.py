"""Facts about an operation besides its signature, true on any device: its cost class and numeric traits."""

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
    """Numeric traits of an operation. A trait that is not listed does not hold."""

    NONE = 0
    FOLDS = auto()
    """It looks at each element once, so that importers compute it where all operands are constants."""
    MOVES = auto()
    """Each element of the result is one of the first tensor's, unchanged, or a filler."""
    RESTATES = auto()
    """The result has the values of the first tensor, in the same order."""
    CHOOSES = auto()
    """The result is among the operands, or follows from comparing them: nothing is rounded, or once."""
    REQUANTIZES = auto()
    """It selects values, but may round quantized values to another scale."""
    PAIRS = auto()
    """It computes element by element, and rounds."""
    STEPS = auto()
    """A small difference of an operand may make a large one of the result, element by element."""
    COMPARES = auto()
    """It compares two values; a NaN gives the same result on any device."""
    ORDERS = auto()
    """A small difference of an operand may make another result altogether."""
    FEEDS_BACK = auto()
    """It feeds back what it gives, step by step: what moves one element may move any other as far."""
    DRAWS = auto()
    """It draws its result at random."""


class Facts(NamedTuple):
    """Facts of an operation. ``summed`` are the dimensions of the second tensor, the filter, that are summed over for
    one element of the result; None without a filter."""

    kind: Kind = Kind.OTHER
    traits: Trait = Trait.NONE
    summed: slice | None = None
