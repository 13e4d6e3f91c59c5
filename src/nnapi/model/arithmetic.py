"""Python's operators on values: on the tensors of a Builder, and on those of an import."""

from abc import ABC, abstractmethod
from typing import Any, Self

from nnapi.codes import OperationCode as O
from nnapi.operation_codes import Code

FUSING = (O.ADD, O.SUB, O.MUL, O.DIV)
"""Operations with an activation as their last operand."""


class Arithmetic(ABC):
    """A value with Python's operators, each of which appends an operation. Numbers become constants of its type."""

    __array_ufunc__ = None  # an array on the left side leaves the operator to the value

    @abstractmethod
    def apply(self, code: Code, *others: Any) -> Self:
        """Append an operation without a fused activation, on this value and others; return its result."""

    @abstractmethod
    def beside(self, number: Any) -> Any:
        """Return a number as a constant of one element, of the value's type."""

    def compare(self, code: O, other: Any) -> Self:
        return self.apply(code, other)

    def __add__(self, other: Any) -> Self:
        return self.apply(O.ADD, other)

    def __sub__(self, other: Any) -> Self:
        return self.apply(O.SUB, other)

    def __rsub__(self, other: float) -> Self:
        return self.beside(other) - self  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Self:
        return self.apply(O.MUL, other)

    def __truediv__(self, other: Any) -> Self:
        return self.apply(O.DIV, other)

    def __rtruediv__(self, other: float) -> Self:
        return self.beside(other) / self  # type: ignore[no-any-return]

    def __neg__(self) -> Self:
        return self.apply(O.NEG)

    def __abs__(self) -> Self:
        return self.apply(O.ABS)

    def __lt__(self, other: Any) -> Self:
        return self.compare(O.LESS, other)

    def __gt__(self, other: Any) -> Self:
        return self.compare(O.GREATER, other)

    __radd__, __rmul__ = __add__, __mul__
