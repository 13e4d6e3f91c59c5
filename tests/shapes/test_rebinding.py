"""Sizes with other symbols: guards of one use do not restrict the other."""

from typing import Any

import numpy as np

from nnapi.shapes.array import as_integers, is_symbolic, number_elements
from nnapi.shapes.expression import Symbol
from nnapi.shapes.rebinding import Rebinding
from nnapi.shapes.symbols import Substitution, Symbols


def test_guards_are_recorded_apart() -> None:
    symbols = Symbols()
    a, b = symbols.add(5, "a"), symbols.add(6, "b")
    found = Rebinding(symbols)
    c, three, d = found.shape((a * b, 3, (a + 1) // 4))
    assert three == 3
    assert (int(c), int(d)) == (30, 1)
    assert not symbols.guards
    assert found.symbols.find_broken(Substitution([5, 7]))
    assert not found.symbols.find_broken(Substitution([6, 5]))


def test_symbols_that_a_guard_fixes_become_numbers() -> None:
    symbols = Symbols()
    a, b = symbols.add(5, "a"), symbols.add(1, "b")
    assert b == 1
    assert a != 2
    assert a * 2 == 10 * b
    (expression,) = [each for each in symbols.find_fixed() if isinstance(each, Symbol)]
    assert (expression.name, symbols.find_fixed()[expression]) == ("b", 1)
    found = Rebinding(symbols)
    shape: Any = found.shape((a * b, b * 7, a % (b + 1), (b + 8) // 4))
    assert shape[1:2] + shape[3:] == (7, 2)
    assert not found.symbols.guards, "numbers are compared without a guard"
    assert repr(shape[0].expression) == "a"
    assert repr(shape[2].expression) == "(a) % (2)"


def test_arrays_are_evaluated_for_the_same_sizes() -> None:
    symbols = Symbols()
    a, b = symbols.add(5, "a"), symbols.add(1, "b")
    assert b == 1
    found = Rebinding(symbols)
    rows: Any = found.array(number_elements((a, 2)))
    assert rows.shape == (found.shape((a,))[0], 2)
    sizes: Any = found.array(as_integers([a, 2 * b, -1], np.int32))
    assert sizes.tolist()[1:] == [2, -1]
    plain: Any = found.array(as_integers([2 * b, -1], np.int32))
    assert not is_symbolic(plain)
    assert plain.dtype == np.int32
    for array, right in ((rows, np.arange(14).reshape(7, 2)), (sizes, np.array([7, 2, -1]))):
        np.testing.assert_array_equal(Substitution([7, 1]).array(array), right)
