"""Polynomials in symbols: equal ones are equal, and divisions are exact where possible."""

import itertools

import pytest

from nnapi.shapes.size import Size
from nnapi.shapes.symbols import Substitution, Symbols

FORMULAS = (
    "a + b - 3",
    "(a + 1) * (b + 2) * 12",
    "(a * b * 768) // (a * 12)",
    "((a + 1) * 768) // ((a + 1) * 12)",
    "(a * b + 5) // 2",
    "(a + 7) % 3 + (b * 2) % 2",
    "-(-(a + 3) // b)",
    "20 - a // (b + 1)",
)


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_of_sizes_is_the_formula_of_their_numbers(formula: str) -> None:
    symbols = Symbols()
    found = eval(formula, {"a": symbols.add(5, "s"), "b": symbols.add(4, "s")})
    for a, b in itertools.product(range(1, 9), repeat=2):
        assert Substitution([a, b]).size(found) == eval(formula, {"a": a, "b": b})
    assert not symbols.guards


def test_equal_formulas_need_no_guard() -> None:
    symbols = Symbols()
    a, b = symbols.add(5, "s"), symbols.add(4, "s")
    assert (a + 1) * b == b + a * b
    assert (a * b * 768) // (a * 12) == 64 * b
    assert (a * 6) % 3 == 0
    assert a + 1 != 1
    assert a >= 1
    assert a * b > 0
    assert not symbols.guards


def test_a_constant_quotient_is_an_int() -> None:
    symbols = Symbols()
    a = symbols.add(5, "s")
    found = (a * 12) // a
    assert found == 12
    assert isinstance(found, int)
    assert isinstance(a * 1, Size)
