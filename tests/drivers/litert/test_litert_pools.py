"""Pools and casts for LiteRT: single cells and windows with gaps are picked, float16 is rounded to."""

from typing import Any

import pytest

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.lowering import lower_model
from nnapi.model.operand import OperandType, tensor
from tests.drivers.litert.graph_cases import ints, kinds, lower, real, zeros
from tests.single import single

VALID = 2


@pytest.mark.parametrize(
    ("size", "stride", "activation", "found"),
    [
        ((1, 1), (2, 2), 0, ["STRIDED_SLICE"]),
        ((1, 1), (2, 2), 1, ["STRIDED_SLICE", "RELU"]),
        ((2, 1), (3, 3), 0, ["MAX_POOL_2D", "STRIDED_SLICE"]),
        ((1, 2), (3, 3), 0, ["MAX_POOL_2D", "STRIDED_SLICE"]),
        ((2, 2), (2, 3), 0, ["MAX_POOL_2D", "STRIDED_SLICE"]),
        ((2, 2), (3, 2), 0, ["MAX_POOL_2D", "STRIDED_SLICE"]),
        ((2, 2), (2, 2), 0, ["MAX_POOL_2D"]),
        ((1, 1), (1, 1), 0, ["RESHAPE"]),
    ],
)
def test_windows_with_gaps_are_picked(
    size: tuple[int, int], stride: tuple[int, int], activation: int, found: list[str]
) -> None:
    """Sizes and strides are across and down."""
    (width, height), (across, down) = size, stride
    out = real(1, (5 - height) // down + 1, (5 - width) // across + 1, 2)
    windows = [zeros(real(1, 5, 5, 2)), *ints(VALID, across, down, width, height, activation)]
    graph = lower(Op.MAX_POOL_2D, windows, out)
    assert [operator.kind for operator in graph.operators] == found
    if "STRIDED_SLICE" in found:
        (picked,) = (operator for operator in graph.operators if operator.kind == "STRIDED_SLICE")
        assert picked.input(3).value.tolist() == [1, down, across, 1]


def test_quantized_windows_with_gaps_are_the_engine_s() -> None:
    x, out = tensor("uint8", (1, 5, 5, 2), 0.5, 3), tensor("uint8", (1, 3, 3, 2), 0.5, 3)
    assert kinds(Op.MAX_POOL_2D, [zeros(x), *ints(VALID, 2, 2, 1, 1, 0)], out) == ["MAX_POOL_2D"]


def test_the_mean_square_of_one_cell_is_its_square() -> None:
    one = [zeros(real(1, 5, 5, 2)), *ints(VALID, 2, 2, 1, 1, 0)]
    assert kinds(Op.L2_POOL_2D, one, real(1, 3, 3, 2)) == ["MUL", "STRIDED_SLICE", "MUL", "SQRT", "MUL"]
    several = [zeros(real(1, 5, 5, 2)), *ints(VALID, 2, 2, 3, 3, 0)]
    assert "STRIDED_SLICE" not in kinds(Op.L2_POOL_2D, several, real(1, 2, 2, 2))


@pytest.mark.parametrize(
    ("size", "stride", "is_refused"), [((2, 3), (2, 3), False), ((2, 3), (3, 3), True), ((3, 2), (3, 3), True)]
)
def test_gaps_between_squares_are_refused(size: tuple[int, int], stride: tuple[int, int], is_refused: bool) -> None:
    inputs: list[Any] = [zeros(real(1, 7, 7, 1)), *ints(VALID, *stride, *size, 0)]
    out = real(1, (7 - size[1]) // stride[1] + 1, (7 - size[0]) // stride[0] + 1, 1)
    reason = lower_model(single(Op.L2_POOL_2D, inputs, [out], constant=True)).verdicts[0].reason
    assert ("leave gaps between windows" in reason) == is_refused == bool(reason)


HALF = tensor("float16", (2,))


@pytest.mark.parametrize(
    ("x", "y", "found"),
    [
        (real(2), HALF, ["RESHAPE", "CAST", "CAST", "CAST"]),
        (HALF, HALF, ["CAST", "RESHAPE", "CAST"]),
        (HALF, real(2), ["CAST", "RESHAPE"]),
    ],
)
def test_casts_to_float16_go_by_way_of_float16(x: OperandType, y: OperandType, found: list[str]) -> None:
    """Inputs and outputs of float16 are converted; a cast to it rounds in between."""
    assert kinds(Op.CAST, [zeros(x)], y) == found
