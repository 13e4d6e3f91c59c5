"""Constants that depend on sizes."""

from typing import Any

import numpy as np
import pytest

from nnapi.shapes.array import SymbolicArray, as_integers, broadcast, is_symbolic, number_elements
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
