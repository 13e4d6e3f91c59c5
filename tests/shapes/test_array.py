"""Constants that depend on sizes."""

from typing import Any

import numpy as np
import pytest

from nnapi.shapes.array import (
    SymbolicArray,
    as_integers,
    broadcast,
    broadcast_to,
    is_symbolic,
    is_whole,
    number_elements,
)
from nnapi.shapes.symbols import Substitution, Symbols


@pytest.fixture
def symbols() -> Symbols:
    return Symbols()


def test_a_list_of_sizes_stays_a_list_of_expressions(symbols: Symbols) -> None:
    a = symbols.add(5, "s")
    found: Any = as_integers([2, a * 3, -1], np.int32)
    assert is_symbolic(found)
    assert found.tolist()[1] == 3 * a
    assert (found + 1).tolist()[1] == 3 * a + 1
    assert found.reshape(3, 1).reshape(-1).tolist()[0] == 2
    assert found[1].item() == 3 * a
    assert not symbols.guards
    np.testing.assert_array_equal(Substitution([7]).array(found), np.array([2, 21, -1], np.int32))
    assert isinstance(as_integers([1, 2], np.int32), np.ndarray)


def test_rows_of_sizes_stay_expressions(symbols: Symbols) -> None:
    """The pads of an axis before and behind it, which files list in another order."""
    a = symbols.add(5, "s")
    found: Any = as_integers([[0, 0], [a - 1, 1]], np.int32)
    turned: Any = as_integers([0, a - 1, 0, 1], np.int32).reshape(2, 2).transpose()
    for array in (found, turned):
        assert array.shape == array.T.shape == (2, 2)
        assert array.tolist()[1][0] == array.T.tolist()[0][1] == a - 1
        np.testing.assert_array_equal(Substitution([7]).array(array), [[0, 0], [6, 1]])
    assert not symbols.guards
    assert as_integers([[1, 2], [3, 4]], np.int32).tolist() == [[1, 2], [3, 4]]


def test_functions_of_an_array_are_computed_again(symbols: Symbols) -> None:
    a = symbols.add(3, "s")
    rows: Any = number_elements((a, 2))
    found = (rows.transpose(1, 0) * 2.0).astype(np.float32).reshape(-1)
    assert found.shape == (2 * a,)
    assert not symbols.guards
    for size in (3, 4):
        expected = (np.arange(size * 2).reshape(size, 2).T * 2.0).astype(np.float32).reshape(-1)
        np.testing.assert_array_equal(Substitution([size]).array(found), expected)


def test_a_test_of_values_is_a_guard(symbols: Symbols) -> None:
    rows: Any = number_elements((symbols.add(3, "s"),))
    assert rows.max() < 10
    assert not (rows < 0).any()
    assert not symbols.find_broken(Substitution([10]))
    assert symbols.find_broken(Substitution([11]))


@pytest.mark.parametrize("use", [np.asarray, np.sum, lambda array: array.tolist(), lambda array: array[0]])
def test_code_that_takes_the_values_fixes_them(symbols: Symbols, use: Any) -> None:
    array = number_elements((symbols.add(3, "s"),)) * 1.0
    np.testing.assert_array_equal(use(array), use(np.arange(3) * 1.0))
    assert not symbols.find_broken(Substitution([3]))
    assert symbols.find_broken(Substitution([4]))


def test_arrays_of_unknown_shape_keep_it(symbols: Symbols) -> None:
    a: Any = number_elements((symbols.add(3, "s"),))
    found = a.derive(lambda array: array[:2], [a])
    assert found.shape == (2,)
    assert not symbols.find_broken(Substitution([5]))
    assert symbols.find_broken(Substitution([1]))


def test_shapes_that_do_not_broadcast() -> None:
    assert broadcast([(2, 1), (3,)]) == (2, 3)
    assert broadcast([(2, 4), (3,)]) is None
    assert isinstance(number_elements((2, 3)), np.ndarray)
    assert not isinstance(number_elements((2, 3)), SymbolicArray)


def test_a_size_in_a_function_of_an_array_is_substituted(symbols: Symbols) -> None:
    a = symbols.add(3, "s")
    found: Any = number_elements((a, 2)) * a
    assert found.dtype.kind == "i"
    assert not symbols.guards
    np.testing.assert_array_equal(Substitution([5]).array(found), np.arange(10).reshape(5, 2) * 5)


def test_an_array_is_repeated_to_a_shape_of_sizes(symbols: Symbols) -> None:
    a = symbols.add(3, "s")
    row = np.array([[1, 2]])
    for given in (row, number_elements((a, 1))):
        found = broadcast_to(given, (a, 2))
        assert found.shape == (a, 2)
    assert not symbols.guards
    np.testing.assert_array_equal(Substitution([4]).array(found), np.arange(4).reshape(4, 1).repeat(2, 1))
    np.testing.assert_array_equal(broadcast_to(row, (3, 2)), row.repeat(3, 0))


def test_indices_of_a_whole_axis(symbols: Symbols) -> None:
    a, b = symbols.add(3, "s"), symbols.add(4, "t")
    assert is_whole(number_elements((1, a + 1)), b)
    assert not is_whole(number_elements((a,)), b)
    assert not symbols.find_broken(Substitution([6, 7]))
    assert symbols.find_broken(Substitution([6, 8]))
    assert symbols.find_broken(Substitution([7, 7]))
    assert is_whole(np.array([[0, 1]]), 2)
    assert not is_whole(np.array([1, 0]), 2)
    assert not is_whole(np.array([0, 1, 2]), a), "no guard is recorded for plain indices"


def test_a_number_that_integers_cannot_hold_is_converted_without_a_warning(symbols: Symbols) -> None:
    a = symbols.add(3, "s")
    with np.errstate(divide="ignore"):
        logarithms = np.log(number_elements((a,)).astype(np.float32))
    np.testing.assert_array_equal(logarithms.astype(np.int32).number[1:], [0, 0])
