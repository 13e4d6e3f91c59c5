"""Windows of sizes, strides and dilations that no network has: computed, or refused before the engine sees them."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

import nnapi
from nnapi import Builder
from nnapi.codes import OperandCode, OperationCode
from nnapi.compiling import compile
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.engine_cases import agree, engine
from tests.single import scalar, single

pytestmark = pytest.mark.engine

MOST = 2**31 - 1
SAME, VALID = [1], [2]
IMAGE = np.arange(25, dtype=np.float32).reshape(1, 5, 5, 1)
POOLS = [OperationCode.AVERAGE_POOL_2D, OperationCode.L2_POOL_2D, OperationCode.MAX_POOL_2D]


def given(array: Any) -> tuple[Any, ...]:
    array = np.asarray(array)
    return tensor(array.dtype.name, array.shape), array


def integers(*values: int) -> list[Any]:
    return [scalar(OperandCode.INT32, value) for value in values]


def floats(*dimensions: int) -> Any:
    return tensor("float32", dimensions)


def convolution(code: OperationCode, taps: int, stride: int, dilation: int) -> list[Any]:
    filters, bias = given(np.ones((1, 1, taps, 1), np.float32)), given(np.ones(1, np.float32))
    multiplier = [1] if code == OperationCode.DEPTHWISE_CONV_2D else []
    layout = scalar(OperandCode.BOOL, False)
    numbers = integers(*SAME, stride, stride, *multiplier, 0)
    return [given(IMAGE), filters, bias, *numbers, layout, *integers(dilation, 1)]


def pool(scheme: list[int], stride: int, size: int) -> list[Any]:
    return [given(IMAGE), *integers(*scheme, stride, stride, size, size, 0)]


def transposed(cells: int, filters: int, out: int, stride: int) -> list[Any]:
    x, w = (given(np.ones((1, 1, dimension, 1), np.float32)) for dimension in (cells, filters))
    shape = given(np.array([1, 1, out, 1], np.int32))
    numbers = integers(*SAME, stride, 1, 0)
    return [x, w, given(np.zeros(1, np.float32)), shape, *numbers, scalar(OperandCode.BOOL, False)]


def reason(code: OperationCode, inputs: list[Any], out: Any, constant: bool = False) -> str:
    (verdict,) = engine().driver.verdicts(single(code, inputs, [out], constant=constant))
    return verdict.reason


@pytest.mark.parametrize("code", [OperationCode.CONV_2D, OperationCode.DEPTHWISE_CONV_2D])
@pytest.mark.parametrize("dilation", [MOST, MOST - 1])
def test_dilations_without_end(code: OperationCode, dilation: int) -> None:
    agree(code, convolution(code, 1, 1, dilation), [floats(1, 5, 5, 1)])
    for taps in (2, 3):
        said = reason(code, convolution(code, taps, 1, dilation), floats(1, 5, 5, 1), constant=True)
        assert "cells of padding are more than the 65536 that engines are given" in said


@pytest.mark.parametrize("code", [OperationCode.CONV_2D, OperationCode.DEPTHWISE_CONV_2D])
def test_strides_of_convolutions_without_end(code: OperationCode) -> None:
    agree(code, convolution(code, 3, MOST, 1), [floats(1, 1, 1, 1)])


@each_row("code", POOLS)
@each_row("size", [2000, 2**16, 2**30 + 1, MOST])
@each_row("is_one", [False, True])
def test_pools_that_the_engine_fails_to_prepare(code: OperationCode, size: int, is_one: bool) -> None:
    inputs = pool(SAME, size if is_one else 1, size)
    out = floats(1, 1, 1, 1) if is_one else floats(1, 5, 5, 1)
    assert "cells of padding beside 5, the engine takes at most 256" in reason(code, inputs, out)


@pytest.mark.parametrize("code", POOLS)
def test_pools_larger_than_the_image(code: OperationCode) -> None:
    agree(code, pool(SAME, 1, 500), [floats(1, 5, 5, 1)], constant=False)


@pytest.mark.parametrize(("padding", "dimension"), [(SAME, 5), (VALID, 3)])
def test_an_average_with_padding_that_the_engine_knows_is_one_operator(padding: list[int], dimension: int) -> None:
    model = single(OperationCode.AVERAGE_POOL_2D, pool(padding, 1, 3), [floats(1, dimension, dimension, 1)])
    assert [operator.kind for operator in lower_model(model).graph.operators] == ["AVERAGE_POOL_2D"]


@pytest.mark.parametrize("code", [OperationCode.AVERAGE_POOL_2D, OperationCode.MAX_POOL_2D])
def test_strides_of_pools_without_end(code: OperationCode) -> None:
    agree(code, pool(VALID, MOST, 3), [floats(1, 1, 1, 1)], constant=False)


@pytest.mark.parametrize(("filters", "out", "stride"), [(2, 1, MOST), (3, 2, 10**5)])
def test_strides_of_transposed_convolutions_of_one_cell(filters: int, out: int, stride: int) -> None:
    agree(OperationCode.TRANSPOSE_CONV_2D, transposed(1, filters, out, stride), [floats(1, 1, out, 1)])


@pytest.mark.parametrize(("tail", "kinds"), [(2, ["TRANSPOSE_CONV"]), (3, ["PAD", "TRANSPOSE_CONV"])])
def test_cells_that_no_filter_reaches(tail: int, kinds: list[str]) -> None:
    """The output shape tells LiteRT of up to one stride of them."""
    x, w = (given(np.arange(1, 1 + cells, dtype=np.float32).reshape(1, 1, cells, 1)) for cells in (4, 2))
    numbers = [*integers(0, -tail, 0, 0, 3, 1, 0), scalar(OperandCode.BOOL, False)]
    inputs, out = [x, w, given(np.ones(1, np.float32)), *numbers], floats(1, 1, 11 + tail, 1)
    model = single(OperationCode.TRANSPOSE_CONV_2D, inputs, [out], constant=True)
    assert [operator.kind for operator in lower_model(model).graph.operators] == kinds
    agree(OperationCode.TRANSPOSE_CONV_2D, inputs, [out])


def test_strides_of_transposed_convolutions_of_two() -> None:
    inputs = transposed(2, 40001, 80000, 40000)
    said = reason(OperationCode.TRANSPOSE_CONV_2D, inputs, floats(1, 1, 80000, 1), constant=True)
    assert said.endswith("the stride is 40000, the engine takes at most 32767")


@pytest.mark.parametrize("radius", [MOST, MOST - 1, 2**30])
def test_neighborhoods_beyond_the_row(radius: int) -> None:
    scalars = [scalar(OperandCode.FLOAT32, np.float32(value)) for value in (1, 1, 0.5)]
    inputs = [given(IMAGE.reshape(1, 1, 5, 5)), *integers(radius), *scalars]
    agree(OperationCode.LOCAL_RESPONSE_NORMALIZATION, inputs, [floats(1, 1, 5, 5)])


@each_row("code", POOLS)
@each_row(("rows", "size", "stride"), [(5, 7, 2), (9, 13, 4), (7, 9, 3), (10, 13, 2)])
@each_row("is_high", [True, False])
def test_windows_that_reach_beyond_the_image_on_both_sides(
    code: OperationCode, rows: int, size: int, stride: int, is_high: bool
) -> None:
    """Of the second such window the engine leaves out rows at the top."""
    image = np.arange(1, rows + 1, dtype=np.float32).reshape((1, rows, 1, 1) if is_high else (1, 1, rows, 1))
    cells = -(-rows // stride)
    numbers = (1, stride, 1, size) if is_high else (stride, 1, size, 1)
    out = floats(1, cells, 1, 1) if is_high else floats(1, 1, cells, 1)
    agree(code, [given(image), *integers(*SAME, *numbers, 0)], [out])


@pytest.mark.parametrize("size", [1, 2])
def test_windows_with_gaps_are_picked_in_each_image(size: int) -> None:
    images = np.concatenate([IMAGE, -IMAGE])
    inputs = [given(images), *integers(*VALID, 3, 3, size, size, 0)]
    agree(OperationCode.MAX_POOL_2D, inputs, [floats(2, 2, 2, 1)], constant=False)


def test_a_tensor_has_the_name_of_its_operand() -> None:
    builder = nnapi.Builder()
    x = builder.input(floats(2))
    builder.output(builder.abs(builder.neg(x, name="negated"), name="found"))
    operators = lower_model(builder.finish()).graph.operators
    assert [operator.output.name for operator in operators] == ["negated", "found"]


@pytest.mark.parametrize(
    ("begin", "end", "strides", "is_blocks"),
    [
        ((0, 0, 0, 0), (2, 4, 6, 3), (1, 2, 2, 1), True),
        ((0, 1, 0, 0), (2, 4, 6, 3), (1, 2, 2, 1), True),
        ((0, 1, 1, 0), (2, 9, -1, 3), (1, 2, 2, 1), False),  # the last column is not among them
        ((0, 0, 1, 0), (2, 4, 6, 3), (1, 2, 3, 1), False),
        ((0, 2, 1, 0), (2, 4, 6, 3), (1, 2, 2, 1), False),
        ((0, 0, 0, 1), (2, 4, 6, 3), (1, 2, 2, 1), False),
        ((0, 3, 5, 0), (2, -9, -9, 3), (1, -2, -2, 1), False),
        ((0, 0, 0, 0), (2, 4, 6, 3), (1, 4, 4, 1), False),
    ],
)
def test_every_second_row_and_column(
    begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...], is_blocks: bool
) -> None:
    image = np.arange(144, dtype=np.float32).reshape(2, 4, 6, 3)
    bounds = [given(np.array(each, np.int32)) for each in (begin, end, strides)]
    inputs = [given(image), *bounds, *integers(0, 0, 0)]
    out = tensor("float32")
    agree(OperationCode.STRIDED_SLICE, inputs, [out])
    operators = lower_model(single(OperationCode.STRIDED_SLICE, inputs, [out], constant=True)).graph.operators
    expected = ["SPACE_TO_DEPTH", "SLICE"] if is_blocks else ["STRIDED_SLICE"]
    assert [operator.kind for operator in operators] == expected


@pytest.mark.parametrize("pool", ["max_pool_2d", "average_pool_2d"])
@pytest.mark.parametrize("limit", ["relu", "relu6"])
def test_windows_of_one_element_behind_a_limited_convolution(pool: str, limit: str) -> None:
    """The engine's pool would then compute arbitrary values."""
    b = Builder()
    x = b.input(tensor("float32", (1, 4, 4, 2)))
    weights, ones = b.constant(np.zeros((2, 1, 1, 2), np.float32)), b.constant(np.ones(2, np.float32))
    made = b.conv_2d(x, weights, ones, padding_scheme=1, stride_w=1, stride_h=1, activation=0)
    limited = getattr(b, limit)(made)
    one = {"padding_scheme": 2, "stride_w": 1, "stride_h": 1, "filter_w": 1, "filter_h": 1, "activation": 0}
    b.output(getattr(b, pool)(limited, **one))
    with compile(b.finish(), [engine()]) as compiled:
        assert (compiled.run(np.zeros((1, 4, 4, 2), np.float32))[0] == 1).all()
