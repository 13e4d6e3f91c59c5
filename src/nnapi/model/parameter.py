"""Parameters of operations: the elements of signatures.

A parameter accepts types from given feature levels (``types={TENSOR_FLOAT32: 1}``) or the type of another parameter
(``like="input"``, translated by ``via``).
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from nnapi.codes import OperandCode
from nnapi.model.operand import Shape, type_name

Levels = Mapping[int, int]
Ranks = int | tuple[int, ...] | Mapping[int, tuple[int, ...]] | None
"""One rank, several legal ranks, or the ranks that each feature level adds."""


class Unless(NamedTuple):
    """A free quantization; the builder takes that of the named input unless another is given."""

    input: str


Quantization = str | Mapping[int, tuple[float, int]] | Unless | None
"""The quantization of an output: that of the named input, one (scale, zero point) per type, or free."""

REQUIRED: Final = object()
HIGH = (5, 6)
"""Ranks beyond those of NNAPI's operations. Builders and importers may use them where a parameter has them."""


def upto(rank: int) -> tuple[int, ...]:
    return tuple(range(1, rank + 1))


@dataclass(frozen=True)
class Parameter:
    """One input or output of an operation.

    ``declared`` is one type, legal from level ``since`` on, or several with their levels. Without it, the type follows
    the parameter ``like``, by the table ``via``. An ``optional`` parameter may have no value. Trailing parameters with
    a ``default`` may be omitted from ``since`` on. NNAPI does not define the values of an ``unspecified`` output.
    """

    name: str
    declared: Levels | int | None = None
    _: KW_ONLY
    like: str | None = None
    via: Mapping[int, int | Levels] | None = None
    optional: bool = False
    default: Any = REQUIRED
    since: int = 1
    unspecified: bool = False

    @cached_property
    def types(self) -> Levels:
        return {self.declared: self.since} if isinstance(self.declared, int) else dict(self.declared or {})

    def accepts(self, codes: Mapping[str, int]) -> Levels:
        if self.like is None:
            return self.types
        leader = codes.get(self.like)
        if leader is None:
            return self.types
        if self.via is None:
            return {leader: self.since}
        followed = self.via.get(leader, {})
        return followed if isinstance(followed, Mapping) else {followed: self.since}

    def describe(self, codes: Mapping[str, int]) -> str:
        names = " or ".join(type_name(code) for code in self.accepts(codes)) or "no type at all"
        if self.like is None or self.like not in codes:
            return names
        return f"{names} (as {self.like} is {type_name(codes[self.like])})"


@dataclass(frozen=True, kw_only=True)
class TensorParameter(Parameter):
    """A tensor. An ``image`` is NCHW if the layout flag is set, else NHWC.

    ``channel`` is the axis of per-channel scales. With ``late_rank``, the rank is checked when a call is computed.
    ``high`` are the ranks beyond NNAPI's that kernels have, for models that permit them.
    """

    rank: Ranks = None
    high: tuple[int, ...] = ()
    late_rank: bool = False
    channel: int | None = None
    image: bool = False
    quant: Quantization = None

    def rank_level(self, rank: int) -> int | None:
        if self.rank is None:
            return 1
        if isinstance(self.rank, Mapping):
            return min((level for level, ranks in self.rank.items() if rank in ranks), default=None)
        legal = (self.rank,) if isinstance(self.rank, int) else self.rank
        return 1 if rank in legal else None

    @property
    def ranks_beyond(self) -> tuple[int, ...]:
        """Return the ranks beyond NNAPI's operations that kernels have; NNAPI itself limits the rank of few tensors."""
        return HIGH if self.rank is None else self.high

    def describe_ranks(self) -> str:
        if isinstance(self.rank, Mapping):
            ranks = sorted({rank for legal in self.rank.values() for rank in legal})
        else:
            ranks = [self.rank] if isinstance(self.rank, int) else list(self.rank or ())
        return " or ".join(map(str, ranks))


@dataclass(frozen=True)
class ValuesParameter(TensorParameter):
    """A TENSOR_INT32 whose values determine the result's shape; kernels receive these values."""

    declared: Levels | int | None = OperandCode.TENSOR_INT32
    rank: Ranks = field(default=1, kw_only=True)
    late_rank: bool = field(default=True, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class ScalarParameter(Parameter):
    """A scalar; ``check`` returns a message for an illegal value."""

    check: Callable[[Any], str | None] | None = None


@dataclass(frozen=True)
class ActivationParameter(ScalarParameter):
    """A FuseCode that the framework applies to the first output."""

    name: str = "activation"
    declared: Levels | int | None = OperandCode.INT32


@dataclass(frozen=True)
class LayoutParameter(ScalarParameter):
    """False for NHWC, true for NCHW; kernels do not receive it. ``default=REQUIRED`` makes it mandatory."""

    name: str = "layout"
    declared: Levels | int | None = OperandCode.BOOL
    default: Any = field(default=False, kw_only=True)
    since: int = field(default=3, kw_only=True)


class ModelParameter(Parameter):
    """A model that the operation runs."""


class AnyParameter(TensorParameter):
    """An operand of any type."""


class Several(NamedTuple):
    """A list of at least ``least`` operands, which kernels receive as a list; the first decides the type."""

    parameter: TensorParameter
    least: int = 1

    @property
    def name(self) -> str:
        return self.parameter.name


Slot = Parameter | Several


# Short names for declarations:
Tensor, Values, Scalar = TensorParameter, ValuesParameter, ScalarParameter
Activation, Layout = ActivationParameter, LayoutParameter


# Checks of scalar values: return a message for an illegal value.


def positive(value: float) -> str | None:
    return None if value > 0 else "must be above 0"


def not_negative(value: float) -> str | None:
    return None if value >= 0 else "must not be negative"


def one_of(*legal: int) -> Callable[[int], str | None]:
    return lambda value: None if value in legal else f"must be one of {', '.join(map(str, legal))}"


NHWC_TO_NCHW, NCHW_TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


def nhwc_to_nchw(shape: Shape) -> Shape:
    return (shape[0], shape[3], shape[1], shape[2]) if len(shape) == 4 else shape


def nchw_to_nhwc(shape: Shape) -> Shape:
    return (shape[0], shape[2], shape[3], shape[1]) if len(shape) == 4 else shape
