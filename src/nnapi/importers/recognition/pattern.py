"""The language of patterns: expressions that match the steps of a graph however a file orders and groups them.

``x * (1 + erf(x * 0.7071)) * 0.5`` matches a product of these factors in any order, with quotients for factors and
constants in any place. Matches are found by backtracking.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np

from nnapi.codes import OperationCode as O
from nnapi.importers.graph import Step, Value
from nnapi.importers.recognition.match import TOLERANCE, TOLERANCE_OF_HALVES, number_of
from nnapi.operation_codes import Code
from nnapi.rewriting import pattern as general
from nnapi.rewriting.pattern import Kinds, Match

ROOTS: Kinds = frozenset({O.SQRT, O.RSQRT, O.POW})


class Pattern(general.Pattern):
    """A part of an expression, with Python's operators."""

    def __add__(self, other: Pattern | Number | float) -> Pattern:
        return Sum.of(self, other)

    __radd__ = __add__

    def __sub__(self, other: Pattern) -> Pattern:
        return Sum.of(self, -other)

    def __mul__(self, other: Pattern | Number | float) -> Pattern:
        return Product.of(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Pattern) -> Pattern:
        return Product.of(self, Power(other, -1))

    def __neg__(self) -> Pattern:
        return Product.of(self, -1.0)


class Operand(general.Operand, Pattern):
    """Any value; the same name is the same value everywhere in a pattern."""


class Apply(general.Apply, Pattern):
    """The result of an operation on these first inputs."""


class Either(general.Either, Pattern):
    """One of several expressions of the same value."""


@dataclass(eq=False)
class Constant(Pattern):
    """A constant whose elements all have one value."""

    number: float

    def find(self, value: Value, match: Match) -> Iterator[Match]:
        if value.array is not None and value.is_float and bool((value.array == self.number).all()):
            yield match


@dataclass(eq=False)
class Number:
    """A constant number in a sum or product; where it is absent, it is 0 or 1."""

    name: str


@dataclass(eq=False)
class Power(Pattern):
    """A power of a value, as roots, reciprocals, squares or POW."""

    base: Pattern
    exponent: float

    def find(self, value: Value, match: Match) -> Iterator[Match]:
        if self.exponent == 1:
            yield from self.base.find(value, match)
        step = match.find_maker(value)
        found = None if step is None else _find_exponent(step)
        if step is not None and found is not None:
            source, exponent = found
            yield from Power(self.base, self.exponent / exponent).find(source, match.through(step))

    def list_parts(self) -> Sequence[Pattern]:
        return (self.base,)

    @property
    def needs(self) -> frozenset[Kinds]:
        return super().needs if self.exponent % 1 == 0 else super().needs | {ROOTS}

    @property
    def roots(self) -> Kinds:
        return frozenset({O.SQRT, O.RSQRT, O.POW, O.DIV, O.MUL}) | (self.base.roots if self.exponent == 1 else set())


def _find_exponent(step: Step) -> tuple[Value, float] | None:
    """Return the input that a step raises to a power, and the exponent."""
    x = step.inputs[0]
    if step.code in (O.SQRT, O.RSQRT):
        return x, 0.5 if step.code == O.SQRT else -0.5
    if step.code == O.POW:
        exponent = number_of(step.inputs[1])
        return None if not exponent else (x, exponent)
    if step.code == O.DIV:
        return (step.inputs[1], -1) if number_of(x) == 1 else None
    return (x, 2) if step.code == O.MUL and x is step.inputs[1] else None


class Law(NamedTuple):
    """How an operation joins parts and numbers, how another cancels them, and how a part of the negative is negated."""

    join: O
    undo: O
    identity: float
    combine: Callable[[float, float], float]
    invert_number: Callable[[float], float]
    invert: Callable[[Pattern], Pattern]
    negate: Callable[[Pattern], Pattern]


@dataclass(eq=False)
class Chain(Pattern):
    """Parts that an operation combines in any order, with one number."""

    parts: tuple[Pattern, ...]
    number: float | str
    law: ClassVar[Law]

    @classmethod
    def of(cls, *given: Pattern | Number | float) -> Chain:
        """Return the chain of parts and numbers; the parts of chains of the same kind are its own."""
        parts: list[Pattern] = []
        numbers: list[float] = []
        names: list[str] = []
        for each in given:
            if isinstance(each, Number):
                names.append(each.name)
            elif not isinstance(each, Pattern):
                numbers.append(float(each))
            elif type(each) is cls:
                parts += each.parts
                (names if isinstance(each.number, str) else numbers).append(each.number)  # type: ignore[arg-type]
            else:
                parts.append(each)
        number = reduce(cls.law.combine, numbers, cls.law.identity)
        assert not names or (len(names) == 1 and number == cls.law.identity)
        return cls(tuple(parts), names[0] if names else number)

    def find(self, value: Value, match: Match) -> Iterator[Match]:
        tolerance = TOLERANCE if value.type.dtype != np.float16 else TOLERANCE_OF_HALVES
        for found, number in self._split(self.parts, value, match):
            if not isinstance(self.number, str):
                if math.isclose(number, self.number, rel_tol=tolerance):
                    yield found
            elif (bound := found.bind(self.number, number)) is not None:
                yield bound

    def list_parts(self) -> Sequence[Pattern]:
        return self.parts

    @property
    def roots(self) -> Kinds:
        law, is_single = self.law, len(self.parts) == 1
        own = () if is_single and self.number == law.identity else (law.join, law.undo, O.NEG)
        return frozenset(own).union(*(part.roots for part in self.parts if is_single))

    def _split(self, parts: Sequence[Pattern], value: Value, match: Match) -> Iterator[tuple[Match, float]]:
        """Yield the ways in which the value consists of all the parts, each with the number that remains. Numbers are
        left out first."""
        step = match.find_maker(value)
        if step is not None and step.code in (self.law.join, self.law.undo):
            a, b = step.inputs[:2]
            is_undone, match_within = step.code == self.law.undo, match.through(step)
            first, second = number_of(a), number_of(b)
            if second is not None:
                number = self.law.invert_number(second) if is_undone else second
                for found, rest in self._split(parts, a, match_within):
                    yield found, self.law.combine(rest, number)
            elif first is not None:
                inner = [self.law.invert(part) for part in parts] if is_undone else parts
                for found, rest in self._split(inner, b, match_within):
                    yield found, self.law.combine(first, self.law.invert_number(rest) if is_undone else rest)
            else:
                yield from self._divide(parts, a, b, is_undone, match_within)
        elif step is not None and step.code == O.NEG:
            for found, number in self._split(list(map(self.law.negate, parts)), step.inputs[0], match.through(step)):
                yield found, -number
        if len(parts) == 1:
            for found in parts[0].find(value, match):
                yield found, self.law.identity

    def _divide(
        self, parts: Sequence[Pattern], a: Value, b: Value, is_undone: bool, match: Match
    ) -> Iterator[tuple[Match, float]]:
        """Divide the parts between two operands."""
        for count in range(1, len(parts)):
            for chosen in combinations(range(len(parts)), count):
                left = [parts[i] for i in chosen]
                right = [part for i, part in enumerate(parts) if i not in chosen]
                right = [self.law.invert(part) for part in right] if is_undone else right
                for found, number in self._split(left, a, match):
                    for whole, other in self._split(right, b, found):
                        yield whole, self.law.combine(number, self.law.invert_number(other) if is_undone else other)


class Sum(Chain):
    law = Law(O.ADD, O.SUB, 0.0, operator.add, operator.neg, operator.neg, operator.neg)


def _invert_number(number: float) -> float:
    return 1 / number if number else math.inf


def _invert_factor(part: Pattern) -> Pattern:
    return Power(part.base, -part.exponent) if isinstance(part, Power) else Power(part, -1)


class Product(Chain):
    law = Law(O.MUL, O.DIV, 1.0, operator.mul, _invert_number, _invert_factor, lambda part: part)


def apply(code: Code, where: Callable[[Step], bool] = lambda step: True) -> Callable[..., Apply]:
    """Return a function that applies an operation to patterns."""
    return lambda *inputs: Apply(frozenset({code}), inputs, where)


def is_constant(value: Value) -> bool:
    return value.array is not None
