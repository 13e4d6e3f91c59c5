"""Sizes that depend on data: symbols whose values the engine computes in each run."""

from __future__ import annotations

import math

from nnapi.drivers.openvino.sizes import declare
from nnapi.drivers.openvino.value import Value
from nnapi.lowering.refusal import Unsupported
from nnapi.model.call import UNKNOWN
from nnapi.model.operand import Shape
from nnapi.shapes.expression import Bounds, Division, Expression, Symbol
from nnapi.shapes.size import Size
from nnapi.shapes.symbols import Symbols, as_int

SAMPLE = 1009
"""The number that stands for the first such size in comparisons; each further one is larger by 2."""


class DataSizeError(Unsupported):
    """A rule or a shape function asks for the number of such a size."""


class _Count(Symbol):
    """A size that may be 0."""

    __slots__ = ()

    @property
    def bounds(self) -> Bounds:
        return 0, math.inf


class DataSizes(Symbols):
    """Sizes that only a run knows. No other size is equal to one of them, and limits are as for a large number: the
    engine checks the sizes of each run. A rule that asks for the number is refused. ``given`` are the sizes of inputs,
    which record guards; some sizes depend on both."""

    def __init__(self, given: Symbols | None = None) -> None:
        super().__init__()
        if given is not None:
            self.given, self.nodes = given, given.nodes
            self.numbers += given.numbers

    def add_unknown(self, name: str) -> int:
        number = SAMPLE + 2 * len(self.numbers)
        self.numbers.append(number)
        return as_int(Size(Expression.of(_Count(len(self.numbers) - 1, name)), number, self))

    def copy(self, dimensions: Shape) -> Shape:
        """Return dimensions of another graph; for those that depend on data, sizes of this one."""
        return tuple(self.add_unknown(str(each)) if isinstance(each, Size) else each for each in dimensions)

    def decide(self, expression: Expression, relation: str) -> bool:
        if self.given is not None and not _has_count(expression):
            return self.given.decide(expression, relation)
        low, high = expression.bounds
        if low == high == 0 or low > 0 or high < 0:
            return super().decide(expression, relation)
        value = self.own.evaluate(expression)
        if relation == "==" and value == 0:
            raise DataSizeError("a size depends on the data")
        return relation == "<" and value < 0

    def declare(self, value: Value) -> None:
        """Replace the unknown dimensions of a computed value by sizes."""
        if UNKNOWN in value.type.dimensions:
            dimensions = tuple(
                self.add_unknown(value.name) if each == UNKNOWN else each for each in value.type.dimensions
            )
            value.type = value.type.with_dimensions(dimensions)
            declare(value.node(value.kind), dimensions)


def _has_count(expression: Expression) -> bool:
    return any(_depends_on_data(atom) for product in expression.terms for atom in product)


def _depends_on_data(atom: Symbol | Division) -> bool:
    if isinstance(atom, Division):
        return _has_count(atom.dividend) or _has_count(atom.divisor)
    return isinstance(atom, _Count)


def as_unknown(dimensions: Shape) -> Shape:
    """Return dimensions with UNKNOWN for those that depend on data, are not declared, or are 0 in one branch."""
    return tuple(UNKNOWN if isinstance(each, Size) or each == 0 else each for each in dimensions)
