"""A size that remembers its expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import add, mul, sub
from typing import Any, Protocol

import numpy as np

from nnapi.shapes.expression import Expression


class Decides(Protocol):
    """The symbols of an import, as far as sizes need them."""

    nodes: dict[Expression, Any]
    answers: dict[tuple[Expression, Any, str, bool], bool]

    @property
    def given(self) -> Decides | None: ...
    def decide(self, expression: Expression, relation: str) -> bool: ...
    def find_number(self, expression: Expression) -> int: ...
    def is_one(self, expression: Expression) -> bool: ...


class Size:
    """A number with the operators of an int. Sums, products and quotients are expressions in symbols again.

    A comparison whose result depends on the symbols records a guard. So does each conversion to an int, for which NumPy
    and Python's ranges and indices ask: the size is then fixed. It is not an int, because these would read an int's
    value without asking.
    """

    __slots__ = ("expression", "number", "symbols")

    def __init__(self, expression: Expression, number: int, symbols: Decides) -> None:
        self.expression, self.number, self.symbols = expression, number, symbols

    def _make(self, expression: Expression, other: Any = None) -> Any:
        number, symbols = expression.number, self._join(other)
        return Size(expression, symbols.find_number(expression), symbols) if number is None else number

    def _join(self, other: Any) -> Decides:
        """Return the symbols that contain those of this size and of another operand; ArithmeticError if none do."""
        common = self._find_common(other)
        if common is None:
            raise ArithmeticError(f"{self.expression} and {other.expression} have no common symbols")
        return common

    def _find_common(self, other: Any) -> Decides | None:
        if not isinstance(other, Size) or other.symbols is self.symbols or other.symbols is self.symbols.given:
            return self.symbols
        return other.symbols if other.symbols.given is self.symbols else None

    def fix(self) -> int:
        """Return the number; substitutions must keep it."""
        self.symbols.decide(self.expression - Expression.of(self.number), "==")
        return self.number

    # Arithmetic

    def _combine(self, other: Any, operator: Callable[[Any, Any], Any]) -> Any:
        """Apply an operator to the expressions; to the numbers, fixing the size, if the other operand is a float."""
        found = _read(other)
        if found is not None:
            return self._make(operator(self.expression, found), other)
        return operator(self.fix(), other) if isinstance(other, float) else NotImplemented

    def __add__(self, other: Any) -> Any:
        return self._combine(other, add)

    def __radd__(self, other: Any) -> Any:
        return self._combine(other, add)

    def __sub__(self, other: Any) -> Any:
        return self._combine(other, sub)

    def __rsub__(self, other: Any) -> Any:
        return self._combine(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._combine(other, mul)

    def __rmul__(self, other: Any) -> Any:
        return self._combine(other, mul)

    def __floordiv__(self, other: Any) -> Any:
        return NotImplemented if (found := _read(other)) is None else self._divide(other, self.expression, found)

    def __rfloordiv__(self, other: Any) -> Any:
        return NotImplemented if (found := _read(other)) is None else self._divide(other, found, self.expression)

    def __mod__(self, other: Any) -> Any:
        return (
            NotImplemented
            if (found := _read(other)) is None
            else self._divide(other, self.expression, found, rest=True)
        )

    def __rmod__(self, other: Any) -> Any:
        return (
            NotImplemented
            if (found := _read(other)) is None
            else self._divide(other, found, self.expression, rest=True)
        )

    def _divide(self, other: Any, dividend: Expression, divisor: Expression, *, rest: bool = False) -> Any:
        if self._join(other).decide(divisor, "=="):
            raise ZeroDivisionError("a size of 0 divides another")
        return self._make(dividend % divisor if rest else dividend // divisor, other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __neg__(self) -> Any:
        return self._make(-self.expression)

    def __pos__(self) -> Size:
        return self

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __round__(self, digits: int | None = None) -> Size:
        return self

    __trunc__ = __floor__ = __ceil__ = __pos__

    # Comparisons

    def _compare(self, other: Any, relation: str, *, swapped: bool = False) -> Any:
        if isinstance(other, float):
            low, high = (other, self.fix()) if swapped else (self.fix(), other)
            return low == high if relation == "==" else low < high
        found = other.expression if isinstance(other, Size) else other
        if not isinstance(found, Expression | int | np.integer):
            return NotImplemented
        if relation == "==" and self._find_common(other) is None:
            return False
        symbols, asked = self._join(other), (self.expression, found, relation, swapped)
        answer = symbols.answers.get(asked)
        if answer is None:
            own = self.expression
            found = found if isinstance(found, Expression) else Expression.of(int(found))
            difference = found - own if swapped else own - found if found.terms else own  # most are compared with 0
            answer = symbols.answers[asked] = symbols.decide(difference, relation)
        return answer

    def __eq__(self, other: object) -> Any:
        if other.__class__ is int and other < 0 and self.expression.is_sum:
            return False  # as for dimensions that are not known, of which most comparisons are
        return True if other is self else self._compare(other, "==")

    def __ne__(self, other: object) -> Any:
        return _invert(self.__eq__(other))

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "<")

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "<", swapped=True)

    def __le__(self, other: Any) -> Any:
        return _invert(self.__gt__(other))

    def __ge__(self, other: Any) -> Any:
        return _invert(self.__lt__(other))

    def __bool__(self) -> bool:
        return not self.symbols.decide(self.expression, "==")

    # Conversions, which fix the size

    def __index__(self) -> int:
        return self.fix()

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.fix())

    def __truediv__(self, other: Any) -> Any:
        return self.fix() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.fix()

    def __pow__(self, other: Any) -> Any:
        return self.fix() ** other

    def __rpow__(self, other: Any) -> Any:
        return other ** self.fix()

    def __hash__(self) -> int:
        return hash(self.fix())

    def __str__(self) -> str:
        return str(self.number)

    __repr__ = __str__

    def __format__(self, form: str) -> str:
        return format(self.number, form)


def number_of(size: int) -> int:
    """Return the number of a size without fixing it."""
    return size.number if isinstance(size, Size) else size


def is_one(size: int) -> bool:
    """Return whether a size is 1, where that only permits a simpler model: general models take it for another."""
    return size.symbols.is_one(size.expression) if isinstance(size, Size) else size == 1


def moves_no_element(order: Sequence[int], shape: Sequence[int]) -> bool:
    """Return whether axes in this order hold the same elements in a row, because those that move past others have
    size 1. Nothing is asked of sizes that move past none, such as a batch before tokens and heads."""
    wide = [axis for axis in order if isinstance(shape[axis], Size) or shape[axis] != 1]
    passing = [
        axis
        for place, axis in enumerate(wide)
        if any(other > axis for other in wide[:place]) or any(other < axis for other in wide[place:])
    ]
    moving = [axis for axis in passing if not is_one(shape[axis])]
    return moving == sorted(moving)


def is_same(a: Sequence[int], b: Sequence[int]) -> bool:
    """Return whether two shapes are equal. Shapes of different rank differ whatever their sizes are: no guard."""
    return len(a) == len(b) and tuple(a) == tuple(b)


def drop_ones(sizes: Sequence[int]) -> list[int]:
    """Return the sizes that are not 1. Sizes that may be 1 stay, if all others are 1 or equal to them now: they are
    then the size to which all broadcast, whatever it is."""
    wide = [size for size in sizes if isinstance(size, Size) or size != 1]
    if len(set(map(number_of, wide))) < 2:
        return wide
    return [size for size in wide if size != 1]


@dataclass(frozen=True)
class Positions:
    """Successive positions along an axis, whose bounds depend on sizes; those of a range do not."""

    start: int
    stop: int
    step: int = 1


def make_positions(start: int, stop: int, step: int) -> range | Positions:
    """Return the positions from ``start`` to ``stop``; a step other than 1 fixes sizes."""
    has_sizes = isinstance(start, Size) or isinstance(stop, Size)
    return Positions(start, stop) if has_sizes and step == 1 else range(start, stop, step)


def count_positions(positions: range | Positions) -> int:
    """Return the number of positions."""
    if isinstance(positions, range):
        return len(positions)
    return positions.stop - positions.start if positions.stop > positions.start else 0


def _read(value: Any) -> Expression | None:
    """Return an operand as an expression; None for floats and arrays, which have operators of their own."""
    if isinstance(value, Size):
        return value.expression
    if isinstance(value, int):
        return Expression.of(int(value))
    return Expression.of(int(value)) if isinstance(value, np.integer) else None


def _invert(answer: Any) -> Any:
    return answer if answer is NotImplemented else not answer
