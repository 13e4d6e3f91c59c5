"""Decisions on inexact values: numbers of results, and conversions to bool."""

from dataclasses import replace

import numpy as np
import pytest

from nnapi.codes import FuseCode
from nnapi.testing.example import Example, ExampleGraph, OperandSource, OperationSpec
from nnapi.testing.random.decisions import find_free_axes, have_several_quotients
from nnapi.testing.random.deviation import Computation
from tests.testing.random.deviation_cases import FLOATS, NUMBERS, chain, computed
from tests.testing.testing_cases import F32, Q8, constant, given, taken, tensor

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def unique(*dimensions: int) -> ExampleGraph:
    """The different columns, with results of these declared dimensions."""
    ints = [given(tensor("TENSOR_INT32", 0)) for _ in range(3)]
    operands = (
        taken(tensor(F32, 2, 3)),
        constant("INT32", np.int32(1)),
        constant("BOOL", np.bool_(True)),
        given(tensor(F32, *dimensions)),
        *ints,
    )
    call = OperationSpec("UNIQUE", (0, 1, 2), (3, 4, 5, 6))
    return ExampleGraph(operands, (call,), (0,), call.outputs)


VALUES = {0: X, 1: np.int32(1), 2: np.bool_(True), **dict.fromkeys(range(3, 7))}


def test_the_number_of_slices_is_free_and_their_size_is_not() -> None:
    found = find_free_axes(unique(2, 0), 0, VALUES, {0})
    assert found == {3: {1}, 4: {0}, 5: set(), 6: {0}}


def reshape() -> ExampleGraph:
    shape = replace(tensor("TENSOR_INT32", 2), lifetime=OperandSource.SUBGRAPH_INPUT)
    operands = (taken(tensor(F32, 2, 3)), shape, given(tensor(F32, 0, 0)))
    return ExampleGraph(operands, (OperationSpec("RESHAPE", (0, 1), (2,)),), (0, 1), (2,))


def test_dimensions_are_free_where_the_operand_that_gives_them_is_inexact() -> None:
    values = {0: X, 1: np.array([3, 2], np.int32), 2: None}
    assert find_free_axes(reshape(), 0, values, {0}) == {2: set()}
    assert find_free_axes(reshape(), 0, values, {0, 1}) == {2: {0, 1}}


def converted(x: float) -> Example:
    """MISH, then a conversion to bool."""
    bools = tensor("TENSOR_BOOL8", 1)
    return chain(("MISH", tensor(F32, 1)), ("CONVERT", bools), x=tensor(F32, 1), data=np.array([x], np.float32))


@pytest.mark.parametrize(("x", "sure"), [(-36.914, False), (2.0, True)])
def test_a_hidden_number_near_zero_may_be_converted_to_either_bool(x: float, sure: bool) -> None:
    """MISH(-36.9) is -3.5e-15, which is 0 for an engine whose EXP flushes it."""
    expected = computed(converted(x)).expect(2)
    assert expected.value.tolist() == [True]
    assert (expected.allowance[0] == 0) == sure


def test_a_visible_number_near_zero_is_converted_exactly() -> None:
    example = chain(("CONVERT", tensor("TENSOR_BOOL8", 1)), x=tensor(F32, 1), data=np.array([1e-30], np.float32))
    assert computed(example).expect(1).allowance.tolist() == [0]


def test_quantized_values_are_converted_as_they_are_stored() -> None:
    """A hidden value may be one step off: a stored 1 may be 0, a stored 128 (which means 0) may not."""
    codes = tensor(Q8, 2, scale=1 / 256, zero_point=128)
    steps = ("SIN", tensor(F32, 2)), ("QUANTIZE", codes), ("CONVERT", tensor("TENSOR_BOOL8", 2))
    data = np.array([-np.arcsin(127 / 256), 0], np.float32)
    expected = computed(chain(*steps, x=tensor(F32, 2), data=data)).expect(3)
    assert expected.value.tolist() == [True, True]
    assert (expected.allowance > 0).tolist() == [True, False]


def positions(*, shown: bool) -> Example:
    """The positions of the sines that are not 0."""
    steps = ("SIN", tensor(F32, 4)), ("NONZERO", tensor("TENSOR_INT32", 1, 0))
    return chain(*steps, x=FLOATS, data=NUMBERS, shown=shown)


def test_dimensions_that_depend_on_hidden_values_are_free() -> None:
    expected = computed(positions(shown=False)).expect(2)
    assert expected.free_axes == {1}
    assert np.isinf(expected.allowance).all()


@pytest.mark.parametrize("operation", ["NONZERO", "RELU"])
def test_dimensions_that_depend_on_nan_are_free(operation: str) -> None:
    """A RELU may give 0 for NaN; the specification does not define it."""
    steps = (("RELU", FLOATS),) if operation == "RELU" else ()
    data = np.array([np.nan, 0, 1, 2], np.float32)
    example = chain(*steps, ("NONZERO", tensor("TENSOR_INT32", 1, 0)), x=FLOATS, data=data)
    expected = computed(example).expect(len(steps) + 1)
    assert expected.free_axes == {1}
    assert np.isinf(expected.allowance).all()


def test_dimensions_that_depend_on_visible_values_are_judged() -> None:
    computation = Computation(positions(shown=True))
    computation.run(0)
    computation.settle(1, np.sin(NUMBERS))
    computation.run(1)
    expected = computation.expect(2)
    assert expected.value.tolist() == [[0, 2, 3]]
    assert not expected.free_axes
    assert not expected.allowance.any()


@pytest.mark.parametrize(("number", "sure"), [(np.nan, False), (3.0, True)])
def test_a_quantized_nan_may_be_computed_again_for_another_reader(number: float, sure: bool) -> None:
    """A device may show 255 and read 0: the specification defines neither."""
    codes = tensor(Q8, 1, scale=1.0, zero_point=0)
    data = np.array([number], np.float32)
    example = chain(("QUANTIZE", codes), ("RELU", codes), x=tensor(F32, 1), data=data, shown=True)
    computation = Computation(example)
    computation.run(0)
    computation.blur(0)
    computation.settle(1, np.array([255], np.uint8))
    computation.run(1)
    assert np.isfinite(computation.expect(2).allowance).all() == sure


@pytest.mark.parametrize(("x", "sure"), [(14999.999, False), (2.5, True)])
def test_a_hidden_remainder_whose_quotient_is_not_certain_may_be_0(x: float, sure: bool) -> None:
    """14999.999 is nearly 10,000 times 1.5. Times a remainder of 0 it is 0, times all others it is above 6."""
    numbers, hidden = tensor(F32, 1), replace(tensor(F32, 1), lifetime=OperandSource.TEMPORARY_VARIABLE)
    divisor = replace(numbers, lifetime=OperandSource.CONSTANT_COPY, data=np.array([1.5], np.float32))
    settings = constant("BOOL", np.bool_(False)), constant("INT32", np.int32(FuseCode.FUSED_RELU6))
    operands = (taken(numbers), hidden, divisor, settings[0], hidden, settings[1], given(numbers))
    calls = (
        OperationSpec("MISH", (0,), (1,)),
        OperationSpec("MOD", (1, 2, 3), (4,)),
        OperationSpec("MUL", (1, 4, 5), (6,)),
    )
    data = {0: np.array([x], np.float32)}
    allowance = computed(Example("remainder", ExampleGraph(operands, calls, (0,), (6,)), data, {})).expect(6).allowance
    assert (allowance < 1e-3).all() if sure else (allowance >= 6).all()


def test_the_elements_with_several_quotients() -> None:
    x, y = np.array([-3000, 1, 1], np.float32), np.array([1.5, 1.5, 0.5], np.float32)
    assert have_several_quotients(x, y, np.full(3, 1e-3), 0.0).tolist() == [True, False, True]
    assert have_several_quotients(x, y, 0.0, 0.0).tolist() == [False] * 3
    assert have_several_quotients(x, y, 0.0, np.array([1e-3, 0, 0])).tolist() == [True, False, False]
