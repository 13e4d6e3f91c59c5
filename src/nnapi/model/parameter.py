"""The parameters of operations: the vocabulary in which signatures are declared.

A signature is a list of parameters. Each names the operand types it accepts and the feature level of each, either by
itself (``types={TENSOR_FLOAT32: 1}``) or following another parameter (``like="input"``, translated by ``via`` where the
types differ).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from nnapi.codes import OperandCode
from nnapi.model.operand import Shape, type_name

Levels = Mapping[int, int]
"""Operand code to the feature level from which it is accepted."""
Ranks = int | tuple[int, ...] | Mapping[int, tuple[int, ...]] | None
"""One rank, the legal ranks, or the ranks added by each feature level."""
Quantization = str | Mapping[int, tuple[float, int]] | None
"""Of an output: that of the named input, one (scale, zero point) by type, or free."""

REQUIRED: Final = object()
"""Default of a parameter that has none."""


def upto(rank: int) -> tuple[int, ...]:
    """Ranks 1 to ``rank``."""
    return tuple(range(1, rank + 1))


@dataclass(frozen=True)
class Parameter:
    """One input or output of an operation.

    What is ``declared`` is one type, taken from level ``since`` on, or several with their levels; else it is of the
    type of the parameter that it is ``like``, by the table ``via`` where the types differ. ``optional`` ones may be
    present without a value; those with a ``default`` may be left off the end of the list, from feature level ``since``
    on. Correct devices may fill an ``unspecified`` output differently.
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
    kind = "operand"

    @cached_property
    def types(self) -> Levels:
        """The types it takes by itself, with their levels."""
        return {self.declared: self.since} if isinstance(self.declared, int) else dict(self.declared or {})

    def accepts(self, codes: Mapping[str, int]) -> Levels:
        """Accepted operand codes with their levels, given the codes of the parameters matched before."""
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
        """The accepted types in words."""
        names = " or ".join(type_name(code) for code in self.accepts(codes)) or "no type at all"
        if self.like is None or self.like not in codes:
            return names
        return f"{names} (as {self.like} is {type_name(codes[self.like])})"


@dataclass(frozen=True, kw_only=True)
class TensorParameter(Parameter):
    """A tensor. ``image`` ones are NCHW when the layout flag is set; ``channel`` is the axis that per-channel scales
    must lie along. A ``late_rank`` is tested when computing, not when the operation is added."""

    rank: Ranks = None
    late_rank: bool = False
    channel: int | None = None
    image: bool = False
    quant: Quantization = None
    kind = "tensor"

    def rank_level(self, rank: int) -> int | None:
        """Feature level from which a known rank is accepted; None where it never is."""
        if self.rank is None:
            return 1
        if isinstance(self.rank, Mapping):
            return min((level for level, ranks in self.rank.items() if rank in ranks), default=None)
        legal = (self.rank,) if isinstance(self.rank, int) else self.rank
        return 1 if rank in legal else None

    def describe_ranks(self) -> str:
        """The legal ranks in words."""
        if isinstance(self.rank, Mapping):
            ranks = sorted({rank for legal in self.rank.values() for rank in legal})
        else:
            ranks = [self.rank] if isinstance(self.rank, int) else list(self.rank or ())
        return " or ".join(map(str, ranks))


@dataclass(frozen=True)
class ValuesParameter(TensorParameter):
    """A TENSOR_INT32 whose values decide the result's shape: shape functions and kernels receive the values."""

    declared: Levels | int | None = OperandCode.TENSOR_INT32
    rank: Ranks = field(default=1, kw_only=True)
    late_rank: bool = field(default=True, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class ScalarParameter(Parameter):
    """A scalar; ``check`` answers with a message where its value is bad."""

    check: Callable[[Any], str | None] | None = None
    kind = "scalar"


@dataclass(frozen=True)
class ActivationParameter(ScalarParameter):
    """A FuseCode that the framework applies to the first output; kernels never see it."""

    name: str = "activation"
    declared: Levels | int | None = OperandCode.INT32


@dataclass(frozen=True)
class LayoutParameter(ScalarParameter):
    """False for NHWC, true for NCHW; the framework permutes image tensors, so everybody else sees NHWC.

    ``default=REQUIRED`` where it cannot be left off.
    """

    name: str = "layout"
    declared: Levels | int | None = OperandCode.BOOL
    default: Any = field(default=False, kw_only=True)
    since: int = field(default=3, kw_only=True)


class ModelParameter(Parameter):
    """A reference to another model (control flow)."""

    kind = "model"


class AnyParameter(TensorParameter):
    """An operand of any type, scalar or tensor (control flow)."""

    kind = "any"


class Several(NamedTuple):
    """Any number of operands of one kind, at least ``least``; kernels see a list. The first decides the type."""

    parameter: TensorParameter
    least: int = 1

    @property
    def name(self) -> str:
        return self.parameter.name


Slot = Parameter | Several


# As declarations call them:
Tensor, Values, Scalar = TensorParameter, ValuesParameter, ScalarParameter
Activation, Layout = ActivationParameter, LayoutParameter


# Checks of scalar values: a message where the value is bad.


def positive(value: float) -> str | None:
    return None if value > 0 else "must be above 0"


def not_negative(value: float) -> str | None:
    return None if value >= 0 else "must not be negative"


def one_of(*legal: int) -> Callable[[int], str | None]:
    return lambda value: None if value in legal else f"must be one of {', '.join(map(str, legal))}"


def nhwc_to_nchw(shape: Shape) -> Shape:
    return (shape[0], shape[3], shape[1], shape[2]) if len(shape) == 4 else shape


def nchw_to_nhwc(shape: Shape) -> Shape:
    return (shape[0], shape[2], shape[3], shape[1]) if len(shape) == 4 else shape
