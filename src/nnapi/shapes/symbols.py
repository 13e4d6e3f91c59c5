"""The symbols of one import, the sizes it was made for, and the guards under which it holds for other sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from nnapi.shapes.expression import Division, Expression, Symbol
from nnapi.shapes.size import Size

Array: TypeAlias = np.ndarray[Any, Any]
T = TypeVar("T")
SIGNS = {("==", True): "=", ("==", False): "≠", ("<", True): "<", ("<", False): "≥"}
"""The relation between an expression and 0 that a guard and its answer mean."""


class Deferred(Protocol):
    """An array that depends on sizes."""

    @property
    def make(self) -> Callable[[Substitution], Array]: ...


class Substitution:
    """Numbers for the symbols: evaluates sizes and arrays, each once."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = numbers
        self._values: dict[Expression, int] = {}
        self._arrays: dict[int, tuple[Deferred, Array]] = {}

    def evaluate(self, expression: Expression) -> int:
        found = self._values.get(expression)
        if found is None:
            found = 0
            for product, factor in expression.terms.items():
                for atom in product:
                    factor *= self._find(atom)
                found += factor
            self._values[expression] = found
        return found

    def _find(self, atom: Symbol | Division) -> int:
        if isinstance(atom, Symbol):
            return self.numbers[atom.position]
        dividend, divisor = self.evaluate(atom.dividend), self.evaluate(atom.divisor)
        return dividend // divisor if atom.is_quotient else dividend % divisor

    def vanishes(self, expression: Expression) -> bool:
        """Return whether each term has a factor of 0."""
        return all(
            any(isinstance(atom, Symbol) and self.numbers[atom.position] == 0 for atom in product)
            for product in expression.terms
        )

    def size(self, size: int) -> int:
        return self.evaluate(size.expression) if isinstance(size, Size) else size

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple([self.size(size) for size in shape])

    def array(self, array: Deferred) -> Array:
        """Return the value of an array; its elements must not be changed."""
        found = self._arrays.get(id(array))
        if found is None:
            found = self._arrays[id(array)] = array, array.make(self)  # the array is kept, so that no other has its id
        return found[1]


class Symbols:
    """Sizes as symbols. ``numbers`` are the sizes that the import is made for."""

    def __init__(self, *, is_general: bool = False) -> None:
        """With ``is_general``, the model is not simpler where sizes are 1."""
        self.is_general = is_general
        self.ones: dict[Expression, bool] = {}
        """Whether an expression is taken for 1, where the model may be simpler then."""
        self.numbers: list[int] = []
        self.guards: dict[tuple[Expression, str], bool] = {}
        """Whether an expression is 0 (``==``) or below 0 (``<``)."""
        self.answers: dict[tuple[Expression, Any, str, bool], bool] = {}
        """The answers to comparisons so far, as most are asked often: the operands, the relation, and whether they are
        swapped."""
        self.assumed: dict[tuple[Expression, str], bool] = {}
        """Answers that hold without a guard, because no size is 0."""
        self.tests: list[tuple[Callable[[Substitution], object], object]] = []
        """Functions of the sizes, and the results that they must have."""
        self.own = Substitution(self.numbers)
        self.given: Symbols | None = None
        """The symbols that these extend, which have the same positions."""
        self.nodes: dict[Expression, Any] = {}
        """Nodes that compute sizes in an engine's graph, while a driver lowers a model."""

    def add(self, number: int, name: str) -> int:
        """Return a new symbol as a size."""
        self.numbers.append(number)
        return as_int(Size(Expression.of(Symbol(len(self.numbers) - 1, name)), number, self))

    def find_number(self, expression: Expression) -> int:
        """Return the value for the import's sizes."""
        return self.own.evaluate(expression)

    def decide(self, expression: Expression, relation: str) -> bool:
        """Return whether an expression is 0 or below 0; record a guard unless that holds for all sizes."""
        low, high = expression.bounds
        if low == high:
            return low == 0 if relation == "==" else low < 0
        if low > 0 or high < 0 or (relation == "<" and low >= 0):
            answer = self.assumed[expression, relation] = relation == "<" and high < 0
            return answer
        value = self.own.evaluate(expression)
        answer = value == 0 if relation == "==" else value < 0
        self.guards[expression, relation] = answer
        return answer

    def is_one(self, expression: Expression) -> bool:
        """Return whether an expression is 1, where a model may be simpler then."""
        answer = self.ones[expression] = not self.is_general and self.own.evaluate(expression) == 1
        return answer

    def find_fixed(self) -> dict[Symbol, int]:
        """Return the symbols that a guard fixes, with their numbers."""
        fixed = {}
        for (expression, relation), answer in self.guards.items():
            atoms = [product[0] for product in expression.terms if len(product) == 1]
            is_one = len(atoms) == 1 and expression.terms.keys() <= {(), (atoms[0],)}
            if answer and relation == "==" and is_one and isinstance(atoms[0], Symbol):
                fixed[atoms[0]] = self.numbers[atoms[0].position]
        return fixed

    def test(self, function: Callable[[Substitution], T]) -> T:
        """Return the function's value for the import's sizes, which other sizes must give too."""
        found = function(self.own)
        self.tests.append((function, found))
        return found

    def find_other_one(self, numbers: Substitution) -> str:
        """Describe a size that is 1 where the import took it for another, or the reverse; return an empty text if none
        is. The import holds for sizes that it did not take for 1, but could be simpler."""
        for expression, answer in self.ones.items():
            if (numbers.evaluate(expression) == 1) != answer:
                return _describe(expression - Expression.of(1), "==", answer)
        return ""

    def find_broken(self, numbers: Substitution) -> str:
        """Describe a guard that the sizes break; return an empty text if all hold."""
        for (expression, relation), answer in self.guards.items():
            value = numbers.evaluate(expression)
            if (value == 0 if relation == "==" else value < 0) != answer:
                return _describe(expression, relation, answer)
        for function, found in self.tests:
            try:
                if function(numbers) != found:
                    return "the earlier import holds only for one value of a constant that depends on sizes"
            except Exception as error:
                return f"a constant cannot be computed: {error}"
        return ""

    def find_broken_by_empty(self, numbers: Substitution) -> str:
        """Describe an answer that does not hold where sizes are 0; return an empty text if all hold.

        That sizes of tensors without elements are 0 breaks none: the caller knows the readers of these tensors.
        """
        for (expression, relation), answer in self.assumed.items():
            if relation == "==" and numbers.vanishes(expression):
                continue
            value = numbers.evaluate(expression)
            if (value == 0 if relation == "==" else value < 0) != answer:
                return f"an input has no elements, but {expression} {SIGNS[relation, answer]} 0 is assumed"
        return ""


def _describe(expression: Expression, relation: str, answer: bool) -> str:
    return f"the earlier import holds only where {expression} {SIGNS[relation, answer]} 0"


def as_int(size: Size | int) -> int:
    """Return a size for code that computes with ints: a Size has their operators."""
    return size  # type: ignore[return-value]
