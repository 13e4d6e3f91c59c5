"""The cost class and numeric traits of an operation."""

from enum import Flag, StrEnum, auto
from typing import NamedTuple


class Kind(StrEnum):
    """Cost classes of operations."""

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
    NONE = 0
    FOLDS = auto()
    """Reads each element once; importers compute it if all operands are constant."""
    MOVES = auto()
    """Each result element is an unchanged element of the first tensor, or a fill value."""
    RESTATES = auto()
    """The result has the elements of the first tensor in the same order."""
    CHOOSES = auto()
    """Each result element is an operand's element or a comparison; it is rounded at most once."""
    REQUANTIZES = auto()
    """Selects values, but may round quantized values to another scale."""
    PAIRS = auto()
    STEPS = auto()
    """A small difference of an operand can make a large difference of an element."""
    COMPARES = auto()
    """Compares two values; a NaN gives the same result on any device."""
    ORDERS = auto()
    """A small difference of an operand can change the whole result."""
    FEEDS_BACK = auto()
    """Results are inputs of later steps; any element can change any other."""
    DRAWS = auto()
    SCALES = auto()
    """Float scalars of the call determine the result's dimensions."""
    DIVIDES = auto()
    """Divides by the second operand; floats have a pole where it is 0."""
    UNDEFINED_BY_0 = auto()
    """Integers divided by 0 are undefined."""
    RAISES = auto()
    """Raises negative bases to whole exponents only."""


class Facts(NamedTuple):
    """The cost class and traits.

    ``summed`` slices the filter's dimensions that are summed per result element. ``rounded_first`` is the loss, in
    steps of the input's scale, of an operation that engines may round to this scale before they requantize.
    """

    kind: Kind = Kind.OTHER
    traits: Trait = Trait.NONE
    summed: slice | None = None
    rounded_first: float = 0.0


EXPONENTS = {"fp32": 126.0, "fp16": 14.0}
"""Values between 2**-N and 2**N have all their digits; N by precision."""
ROUNDING = {"fp32": 2.0**-24, "fp16": 2.0**-11}
"""Half of the last digit, relative to the value."""
