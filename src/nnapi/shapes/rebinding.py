"""The sizes and arrays of an import, for another use that records guards of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.shapes.array import SymbolicArray, has_sizes
from nnapi.shapes.expression import Division, Expression, Symbol
from nnapi.shapes.size import Size
from nnapi.shapes.symbols import Symbols, as_int


class Rebinding:
    """Sizes and arrays that refer to new ``symbols``. Symbols that the import's guards fix become numbers."""

    def __init__(self, source: Symbols) -> None:
        self.symbols = Symbols()
        self.symbols.numbers += source.numbers
        self._fixed = source.find_fixed()

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(map(self._size, shape))

    def array(self, array: SymbolicArray) -> Any:
        """Return the array; a plain one if its elements became numbers."""
        if array.elements is None:
            return SymbolicArray(self.symbols, array.make, self.shape(array.shape))
        elements = np.empty(array.elements.shape, object)
        elements.reshape(-1)[:] = [self._size(each) for each in array.elements.reshape(-1).tolist()]
        if has_sizes(elements.reshape(-1).tolist()):
            return SymbolicArray.of(self.symbols, elements, array.dtype)
        return elements.astype(array.dtype)

    def _size(self, size: int) -> int:
        if not isinstance(size, Size):
            return size
        expression = self._substitute(size.expression)
        number = expression.number
        return as_int(Size(expression, size.number, self.symbols)) if number is None else number

    def _substitute(self, expression: Expression) -> Expression:
        found = Expression({})
        for product, factor in expression.terms.items():
            term = Expression.of(factor)
            for atom in product:
                term = term * self._find(atom)
            found = found + term
        return found

    def _find(self, atom: Symbol | Division) -> Expression:
        if isinstance(atom, Symbol):
            return Expression.of(self._fixed.get(atom, atom))
        dividend, divisor = self._substitute(atom.dividend), self._substitute(atom.divisor)
        a, b = dividend.number, divisor.number
        if a is not None and b:
            return Expression.of(a // b if atom.is_quotient else a % b)
        return dividend // divisor if atom.is_quotient else dividend % divisor
