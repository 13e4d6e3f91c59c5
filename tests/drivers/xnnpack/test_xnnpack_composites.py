"""Composite operations that LiteRT has."""

from typing import Any

import numpy as np
import pytest

from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.formats.tflite.schema import ARGMAX_POOLING, UNPOOLING
from nnapi.model.builder import Builder
from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode
from tests.drivers.xnnpack.filter_cases import FLOAT
from tests.drivers.xnnpack.test_xnnpack_rules import flag, given, ints, run
from tests.ops.composite_cases import model_of
from tests.ops.composite_cases import run as run_on

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("code", [CompositeCode.ROUND, CompositeCode.CEIL, CompositeCode.SIGN])
def test_rounding(code: CompositeCode) -> None:
    x = np.array([-2.5, -1.5, -0.5, -0.4, 0, 0.5, 0.7, 1.5, 2.5], np.float32)
    run(code, [(FLOAT.with_dimensions(x.shape), x)], FLOAT)


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu(approximate: bool) -> None:
    run(CompositeCode.GELU, [given(FLOAT, 4, 9), flag(approximate)], FLOAT)


@pytest.mark.parametrize("type", [FLOAT, tensor("int32")])
def test_cumulative_sums(type: Any) -> None:
    for axis, exclusive, reverse in ((0, False, False), (1, True, False), (-1, False, True), (2, True, True)):
        run(CompositeCode.CUMSUM, [given(type, 2, 3, 4), *ints(axis), flag(exclusive), flag(reverse)], type)


INDICES = tensor("int32")
RANDOM = np.random.default_rng(7)
SIGNED = tensor("int8", (), 1.0)


def test_remainders() -> None:
    x, y = np.array([-7.5, 7.5, -3, 3], np.float32), np.array([2, -2, np.inf, np.inf], np.float32)
    type = FLOAT.with_dimensions((4,))
    for is_truncated in (False, True):
        run(CompositeCode.MOD, [(type, x), (type, y), flag(is_truncated)], FLOAT)
    divisors = INDICES.with_dimensions((3,)), np.array([3, -5, 7], np.int32)
    run(CompositeCode.MOD, [given(INDICES, 4, 3), divisors, flag(False)], INDICES)


@pytest.mark.parametrize("type", [INDICES, SIGNED])
def test_bits(type: Any) -> None:
    run(CompositeCode.BITWISE_XOR, [given(type, 2, 9), given(type, 9)], type)
    shifts = type.with_dimensions((3,)), np.array([0, 3, 7], type.dtype)
    run(CompositeCode.RIGHT_SHIFT, [given(type, 4, 3), shifts], type)


def test_the_bits_of_floats() -> None:
    run(CompositeCode.BITCAST, [given(FLOAT, 2, 9)], INDICES)


AT = INDICES.with_dimensions((2, 2)), np.array([[1, -3], [-2, 2]], np.int32)


@pytest.mark.parametrize("type", [FLOAT, INDICES, tensor("uint8", (), 0.5, 3), tensor("int8", (), 0.5, -3)])
def test_gathers(type: Any) -> None:
    for axis in (0, 1):
        run(CompositeCode.TAKE, [given(type, 3, 4), *ints(axis), AT], type)
        along = INDICES.with_dimensions((3, 4)), np.arange(12, dtype=np.int32).reshape(3, 4) % 3
        run(CompositeCode.GATHER_ELEMENTS, [given(type, 3, 4), *ints(axis), along, flag(True)], type)
    run(CompositeCode.GATHER_ND, [given(type, 3, 4), AT, *ints(0), flag(True)], type)
    batches = INDICES.with_dimensions((3, 1)), np.array([[-1], [0], [3]], np.int32)
    run(CompositeCode.GATHER_ND, [given(type, 3, 4), batches, *ints(1), flag(True)], type)


@pytest.mark.parametrize("type", [FLOAT, INDICES])
def test_sums_at_positions(type: Any) -> None:
    run(CompositeCode.SCATTER_ND, [given(type, 3, 4), AT, given(type, 2), *ints(1), flag(True)], type)


@pytest.mark.parametrize("type", [FLOAT, INDICES, tensor("uint8", (), 0.5, 3)])
def test_the_largest_elements(type: Any) -> None:
    run(CompositeCode.TOP_K, [given(type, 3, 7), *ints(-1, 4), flag(True)], type, INDICES)


def test_halves_are_rounded_to_even() -> None:
    x = np.arange(-6, 6, dtype=np.float32) / 4
    for type in (tensor("uint8", (), 0.5, 3), tensor("int8", (), 0.5, -3)):
        run(CompositeCode.QUANTIZE_TO_EVEN, [(FLOAT.with_dimensions(x.shape), x)], type)


@pytest.mark.parametrize("type", [FLOAT, INDICES, tensor("uint8", (), 1.0, 0), tensor("int8", (), 1.0, 0)])
def test_casts(type: Any) -> None:
    x = np.array([-300, -1, 0, 1, 128, 300], np.float32)
    run(CompositeCode.CONVERT, [(FLOAT.with_dimensions(x.shape), x)], type)
    run(CompositeCode.CONVERT, [(INDICES.with_dimensions(x.shape), x.astype(np.int32))], type)


def pair(b: Builder, size: list[int], strides: list[int], column_major: bool, type: str = "float32") -> Any:
    """Return maxima that are written back to where they were, and their positions."""
    x = b.input(tensor(type, (1, 6, 12, 4)))
    largest, positions = b.argmax_pool_2d(x, [[0, 0]] * 2, strides, size, column_major)
    return b.max_unpool_2d(largest, positions, size, column_major), positions


POOLING = [ARGMAX_POOLING, "BITCAST", UNPOOLING]


@pytest.mark.parametrize("size", [[2, 2], [2, 3], [1, 4]])
def test_pooling_with_positions_is_one_operator(size: list[int]) -> None:
    """XNNPACK's unpooling reads the positions as its pooling stores them; other readers get their bits as integers."""
    x = RANDOM.integers(0, 3, (1, 6, 12, 4)).astype(np.float32)
    model = model_of(lambda b: pair(b, size, size, True))
    lowered = lower_model(model)
    assert [operator.kind for operator in lowered.graph.operators] == POOLING
    assert lowered.graph.operators[2].inputs[1] is lowered.graph.operators[0].outputs[1]
    expected = model_of(lambda b: pair(b, size, size, True)[0])
    for each in (model, expected):
        for found, wanted in zip(run_on(each, "xnnpack-cpu", x), run_on(each, "nnapi-reference", x), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("size", "strides", "column_major", "type", "count"),
    [
        ([2, 2], [2, 2], False, "float32", 0),  # XNNPACK numbers by columns
        ([1, 4], [1, 4], False, "float32", 1),  # rows and columns have the same numbers
        ([2, 2], [1, 2], True, "float32", 0),
        ([2, 2], [2, 2], True, "float16", 1),
    ],
)
def test_other_windows_are_decomposed(
    size: list[int], strides: list[int], column_major: bool, type: str, count: int
) -> None:
    lowered = lower_model(model_of(lambda b: pair(b, size, strides, column_major, type)))
    assert all(verdict.supported for verdict in lowered.verdicts)
    assert [operator.kind for operator in lowered.graph.operators].count(ARGMAX_POOLING) == count


def test_positions_from_elsewhere_are_not_given_to_the_engine() -> None:
    """XNNPACK writes to the address that a position names, without a check."""

    def make(b: Builder) -> Any:
        x, positions = b.input(tensor("float32", (1, 3, 6, 4))), b.input(tensor("int32", (1, 3, 6, 4)))
        _, other = b.argmax_pool_2d(b.input(tensor("float32", (1, 9, 6, 4))), [[0, 0]] * 2, [3, 1], [3, 1], True)
        return b.max_unpool_2d(x, positions, [2, 2], True), b.max_unpool_2d(x, other, [2, 2], True)

    lowered = lower_model(model_of(make))
    assert all(verdict.supported for verdict in lowered.verdicts)
    assert UNPOOLING not in [operator.kind for operator in lowered.graph.operators]


def test_maxima_and_positions() -> None:
    windows = [[0, 0], [0, 0]], [2, 3], [2, 3]
    settings = [(tensor("int32", np.shape(values)), np.array(values, np.int32)) for values in windows]
    run(CompositeCode.ARGMAX_POOL_2D, [given(FLOAT, 1, 4, 6, 3), *settings, flag(True)], FLOAT, INDICES)
    positions = INDICES.with_dimensions((1, 2, 2, 3)), np.arange(12, dtype=np.int32).reshape(1, 2, 2, 3)
    run(CompositeCode.MAX_UNPOOL_2D, [given(FLOAT, 1, 2, 2, 3), positions, settings[2], flag(False)], FLOAT)


def test_integers_are_concatenated() -> None:
    for axis in (0, 1):
        shape = [3, 4]
        shape[axis] = 2
        run(CompositeCode.CONCATENATION_V2, [given(INDICES, 3, 4), given(INDICES, *shape), *ints(axis)], INDICES)


def test_reductions_to_another_scale() -> None:
    x, axes = tensor("int8", (), 0.1, 4), (tensor("int32", (1,)), np.array([1], np.int32))
    run(CompositeCode.MEAN_V2, [given(x, 3, 4), axes, *ints(1)], tensor("int8", (), 0.05, -7))
    run(CompositeCode.REDUCE_SUM_V2, [given(x, 3, 4), axes, flag(False)], tensor("int8", (), 0.5, -7))
    run(CompositeCode.MEAN_V2, [given(FLOAT, 3, 4), axes, *ints(0)], FLOAT)
    run(CompositeCode.REDUCE_SUM_V2, [given(FLOAT, 3, 4), axes, flag(True)], FLOAT)
