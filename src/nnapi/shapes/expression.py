"""Integer polynomials in symbols, and in quotients and remainders of such polynomials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

Monomial: TypeAlias = "tuple[Atom, ...]"
"""A product of atoms, in the order of :func:`_order`; empty for the constant term."""
Bounds: TypeAlias = tuple[float, float]


class Symbol:
    """An unknown size, at least 1: the one at ``position`` of a substitution."""

    __slots__ = ("name", "position")

    def __init__(self, position: int, name: str) -> None:
        self.position, self.name = position, name

    def __repr__(self) -> str:
        return self.name

    @property
    def bounds(self) -> Bounds:
        return 1, math.inf


class Division:
    """A quotient or remainder that is not a polynomial; equal divisions are equal."""

    __slots__ = ("dividend", "divisor", "is_quotient")

    def __init__(self, dividend: Expression, divisor: Expression, *, is_quotient: bool) -> None:
        self.dividend, self.divisor, self.is_quotient = dividend, divisor, is_quotient

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Division) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"({self.dividend}) {'//' if self.is_quotient else '%'} ({self.divisor})"

    def _values(self) -> tuple[Expression, Expression, bool]:
        return self.dividend, self.divisor, self.is_quotient

    @property
    def bounds(self) -> Bounds:
        least, most = self.divisor.bounds
        if least < 1:
            return -math.inf, math.inf
        if not self.is_quotient:
            return 0, most - 1
        low, high = self.dividend.bounds
        return (0 if low >= 0 else -math.inf), (high // least if math.isfinite(high) else math.inf)


Atom: TypeAlias = Symbol | Division


class Expression:
    """A polynomial: a coefficient for each product of atoms. Immutable; equal polynomials are equal."""

    __slots__ = ("_bounds", "_hash", "_is_sum", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {product: factor for product, factor in terms.items() if factor}
        self._hash: int | None = None
        self._bounds: Bounds | None = None
        self._is_sum: bool | None = None

    @classmethod
    def of(cls, value: int | Atom) -> Expression:
        return cls({(): value}) if isinstance(value, int) else cls({(value,): 1})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __repr__(self) -> str:
        text = ""
        for product, factor in self.terms.items():
            number = [] if product and abs(factor) == 1 else [abs(factor)]
            text += (" - " if factor < 0 else " + ") + "*".join(map(str, [*number, *product]))
        return ("-" if text.startswith(" - ") else "") + text[3:] or "0"

    @property
    def number(self) -> int | None:
        """The value of a constant; None if it depends on symbols."""
        return self.terms.get((), 0) if not self.terms.keys() - {()} else None

    @property
    def bounds(self) -> Bounds:
        """Limits of the value for all sizes from 1 on; they may be wider than the values."""
        if self._bounds is None:
            limits = [_scale(_multiply_bounds(product), factor) for product, factor in self.terms.items()]
            self._bounds = sum(low for low, _ in limits), sum(high for _, high in limits)
        return self._bounds

    @property
    def is_sum(self) -> bool:
        """Whether it is a sum of products of sizes: at least 0, even where sizes are 0."""
        if self._is_sum is None:
            are_symbols = all(isinstance(atom, Symbol) for product in self.terms for atom in product)
            self._is_sum = are_symbols and all(factor > 0 for factor in self.terms.values())
        return self._is_sum

    def __add__(self, other: Expression) -> Expression:
        terms = dict(self.terms)
        for product, factor in other.terms.items():
            terms[product] = terms.get(product, 0) + factor
        return Expression(terms)

    def __neg__(self) -> Expression:
        return Expression({product: -factor for product, factor in self.terms.items()})

    def __sub__(self, other: Expression) -> Expression:
        return self + -other

    def __mul__(self, other: Expression) -> Expression:
        terms: dict[Monomial, int] = {}
        for (a, x), (b, y) in ((one, two) for one in self.terms.items() for two in other.terms.items()):
            product = tuple(sorted((*a, *b), key=_order))
            terms[product] = terms.get(product, 0) + x * y
        return Expression(terms)

    def __floordiv__(self, other: Expression) -> Expression:
        exact = self._divide(other)
        return Expression.of(Division(self, other, is_quotient=True)) if exact is None else exact

    def __mod__(self, other: Expression) -> Expression:
        exact = self._divide(other)
        return Expression.of(Division(self, other, is_quotient=False)) if exact is None else Expression({})

    def _divide(self, other: Expression) -> Expression | None:
        """Return the quotient if it is a polynomial, else None. The divisor must not be 0."""
        quotient, rest = Expression({}), self
        leader, share = other._leading
        while rest.terms:
            product, factor = rest._leading
            left = _remove(product, leader)
            if left is None or factor % share:
                return None
            step = Expression({left: factor // share})
            quotient, rest = quotient + step, rest - step * other
        return quotient

    @property
    def _leading(self) -> tuple[Monomial, int]:
        product = max(self.terms, key=lambda each: (len(each), [_order(atom) for atom in each]))
        return product, self.terms[product]


def _order(atom: Atom) -> tuple[int, str]:
    return (atom.position, "") if isinstance(atom, Symbol) else (-1, repr(atom))


def _remove(product: Monomial, divisor: Monomial) -> Monomial | None:
    """Return the atoms of a product without those of its divisor; None if it lacks one."""
    left = list(product)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _scale(bounds: Bounds, factor: int) -> Bounds:
    low, high = bounds[0] * factor, bounds[1] * factor
    return (low, high) if factor > 0 else (high, low)


def _multiply_bounds(product: Monomial) -> Bounds:
    low, high = 1.0, 1.0
    for atom in product:
        least, most = atom.bounds
        if least < 0:
            return -math.inf, math.inf
        low, high = low * least, high * most if most else 0.0
    return low, high
