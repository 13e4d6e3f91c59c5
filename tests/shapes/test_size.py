"""Sizes: comparisons and conversions record guards."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from nnapi.shapes.size import (
    Positions,
    count_positions,
    drop_ones,
    is_one,
    is_same,
    make_positions,
    moves_no_element,
)
from nnapi.shapes.symbols import Substitution, Symbols


def test_a_comparison_is_a_guard() -> None:
    symbols = Symbols()
    a, b = symbols.add(5, "s"), symbols.add(4, "s")
    assert a != 1
    assert a > b
    for numbers, holds in (((7, 2), True), ((1, 1), False), ((3, 4), False)):
        assert (not symbols.find_broken(Substitution(numbers))) == holds


def test_only_differences_may_be_negative() -> None:
    symbols = Symbols()
    a, b = symbols.add(5, "s"), symbols.add(4, "t")
    assert a != -1
    assert -1 not in (a * b + a, b, 3 * a)
    assert not symbols.guards
    assert not symbols.assumed
    assert a - b != -1
    assert b - a == -1
    assert len(symbols.guards) == 2


def test_comparisons_with_zero_are_of_the_size_itself() -> None:
    symbols = Symbols()
    a, b = symbols.add(5, "s"), symbols.add(4, "t")
    assert a - b != 0
    assert a - b > 0
    assert not a - b < 0
    assert {(str(expression), relation): answer for (expression, relation), answer in symbols.guards.items()} == {
        ("s - t", "=="): False,
        ("-s + t", "<"): True,
        ("s - t", "<"): False,
    }


def test_a_comparison_is_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    symbols, asked = Symbols(), list[str]()
    a, decide = symbols.add(5, "s"), symbols.decide
    monkeypatch.setattr(symbols, "decide", lambda each, relation: asked.append(relation) or decide(each, relation))
    for _ in range(3):
        assert a != np.int64(1)
        assert a != 1
        assert a > 3
        assert not a < 3
    assert asked == ["==", "<", "<"]


def test_sizes_of_other_symbols_are_others() -> None:
    """Their numbers have other positions: an expression in both would be another number."""
    symbols, others = Symbols(), Symbols()
    a, b = symbols.add(5, "s"), others.add(5, "t")
    assert a != b
    assert not symbols.guards
    for combine in (lambda: a + b, lambda: a * b, lambda: a // b, lambda: a < b):
        with pytest.raises(ArithmeticError, match="s and t have no common symbols|t and s have no common symbols"):
            combine()


def test_general_symbols_take_no_size_for_one() -> None:
    for number, is_general in ((1, False), (2, False), (1, True), (2, True)):
        symbols = Symbols(is_general=is_general)
        size = symbols.add(number, "s")
        found = number == 1 and not is_general
        assert is_one(size) == found
        assert list(symbols.ones.values()) == [found]
        assert not symbols.guards
        for other in (1, 2):
            broken = symbols.find_other_one(Substitution([other]))
            sign = "=" if found else "≠"
            assert broken == ("" if (other == 1) == found else f"the earlier import holds only where s - 1 {sign} 0")
    assert is_one(1)
    assert not is_one(2)


@pytest.mark.parametrize(
    ("order", "numbers", "found", "asked"),
    [
        ((0, 2, 1, 3), (1, 5, 4, 8), False, "b"),
        ((0, 2, 1, 3), (7, 1, 4, 8), True, "b"),
        ((0, 1, 3, 2), (1, 5, 4, 8), False, ""),
        ((1, 0, 2, 3), (1, 5, 4, 8), True, "b, a"),
    ],
)
def test_a_transpose_asks_for_sizes_that_move_past_others(
    order: Sequence[int], numbers: Sequence[int], found: bool, asked: str
) -> None:
    symbols = Symbols()
    a, b = symbols.add(numbers[0], "a"), symbols.add(numbers[1], "b")
    assert moves_no_element(order, (a, b, *numbers[2:])) == found
    assert ", ".join(map(str, symbols.ones)) == asked


@pytest.mark.parametrize(
    "use",
    [
        int,
        float,
        hash,
        range,
        lambda a: [10, 11, 12, 13, 14, 15][a],
        lambda a: np.zeros(a),
        lambda a: np.array([a], np.int32),
        lambda a: a / 2,
        lambda a: a * 0.5,
        lambda a: a < 5.5,
        lambda a: a**2,
        lambda a: "axes"[: a - 2],
    ],
)
def test_code_that_takes_the_number_fixes_it(use: object) -> None:
    symbols = Symbols()
    use(symbols.add(5, "s"))  # type: ignore[operator]
    assert not symbols.find_broken(Substitution([5]))
    assert symbols.find_broken(Substitution([6]))


def test_messages_do_not_fix_a_size() -> None:
    symbols = Symbols()
    a = symbols.add(5, "s")
    assert f"{a} {a:3} {[a]!r}" == "5   5 [5]"
    assert math.prod((a, 2)) == 2 * a
    assert not symbols.guards


def test_a_size_that_divides_must_not_be_0() -> None:
    symbols = Symbols()
    a = symbols.add(3, "s")
    with pytest.raises(ZeroDivisionError):
        _ = 5 // (a - 3)


def test_a_shape_of_another_rank_is_another_shape_whatever_its_sizes() -> None:
    symbols = Symbols()
    a = symbols.add(5, "s")
    assert not is_same((1, a, 3), (a, 3))
    assert not symbols.guards
    assert not is_same((1, a, 3), (a, 1, 3))
    assert symbols.find_broken(Substitution([1]))


def test_a_size_that_may_be_1_stretches_to_itself() -> None:
    symbols = Symbols()
    a, b = symbols.add(5, "s"), symbols.add(5, "t")
    assert [each is a for each in drop_ones((1, a, a))] == [True, True]
    assert drop_ones((1, 7, 1)) == [7]
    assert drop_ones((1, 1)) == []
    assert not symbols.guards
    assert [each is a for each in drop_ones((a, 1, b))] == [True, False]
    assert not symbols.guards, "the caller compares the sizes that stay"
    assert len(drop_ones((a, 7))) == 2
    assert symbols.find_broken(Substitution([1, 5]))


def test_sizes_that_are_1_together_stay_equal() -> None:
    """The tokens of a decoder's step and their positions: as many in a prompt."""
    symbols = Symbols()
    ids, positions = symbols.add(1, "ids"), symbols.add(1, "positions")
    wide = drop_ones((ids, positions))
    assert wide[1] == wide[0]
    assert not symbols.find_broken(Substitution([6, 6]))
    assert symbols.find_broken(Substitution([6, 1]))


def test_bounds_of_a_section_are_not_fixed() -> None:
    symbols = Symbols()
    size = symbols.add(5, "s")
    assert make_positions(1, 7, 2) == range(1, 7, 2)
    found = make_positions(0, size - 1, 1)
    assert found == Positions(0, size - 1)
    assert count_positions(found) == size - 1
    assert count_positions(range(1, 7, 2)) == 3
    assert not symbols.find_broken(Substitution([8]))
    assert make_positions(0, size, 2) == range(0, 5, 2)
    assert symbols.find_broken(Substitution([8])), "a step fixes the size"


def test_answers_that_only_sizes_from_1_on_give_are_known() -> None:
    symbols = Symbols()
    past, ids = symbols.add(3, "past"), symbols.add(1, "ids")
    assert past * ids != 0
    assert not past - 1 < 0
    assert not symbols.guards
    assert symbols.find_broken_by_empty(Substitution([1, 1])) == ""
    broken = symbols.find_broken_by_empty(Substitution([0, 1]))
    assert broken == "an input has no elements, but past - 1 ≥ 0 is assumed"
    assert not symbols.find_broken_by_empty(Substitution([2, 0])), "only the size of an empty tensor is 0"
    assert past + ids != 1
    assert symbols.find_broken_by_empty(Substitution([1, 0]))
