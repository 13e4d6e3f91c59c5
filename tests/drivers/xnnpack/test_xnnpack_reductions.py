"""Means and sums of quantized values that have another scale than the result; long rows."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperandCode, OperationCode
from nnapi.drivers.litert.rules.reduction import LONGEST_ROW, MOST_SUMMED, count_row
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.model.operand import OperandType, tensor
from nnapi.operation_codes import CompositeCode
from nnapi.testing.compare import STEP, compare
from tests.drivers.xnnpack.engine_cases import Net, agree, both
from tests.single import scalar

SHAPE = (2, 7, 5, 6)
X = {"uint8": tensor("uint8", SHAPE, 0.05, 90), "int8": tensor("int8", SHAPE, 0.05, -38)}
MEAN, SUM = CompositeCode.MEAN_V2, CompositeCode.REDUCE_SUM_V2


def reduced(code: CompositeCode, x: Any, out: Any, axes: tuple[int, ...] = (1, 2), keep_dims: int = 1) -> Any:
    """A model that reduces x along axes."""
    net = Net()
    kept = [1 if axis in axes else dimension for axis, dimension in enumerate(x.dimensions)]
    shape = kept if keep_dims else [dimension for axis, dimension in enumerate(x.dimensions) if axis not in axes]
    along = net.constant(tensor("int32", (len(axes),)), axes)
    how = OperandType(OperandCode.INT32 if code == MEAN else OperandCode.BOOL)
    inputs = [net.input(x), along, net.constant(how, how.dtype.type(keep_dims))]
    return net.finished(net.call(code, inputs, out.with_dimensions(tuple(shape))))


def kinds(model: Any) -> list[str]:
    return [operator.kind for operator in lower_model(model).graph.operators]


def image_of(x: Any, low: int, high: int) -> Any:
    """Random values; ``low`` and ``high`` are for a zero point of 90."""
    return (np.random.default_rng(3).integers(low, high, x.dimensions) + x.zero_point - 90).astype(x.dtype)


AXES = [((1, 2), 1), ((1, 2), 0), ((3,), 1), ((0, 1, 2), 0)]


@each_row(
    ("code", "kind", "out"),
    [
        (MEAN, "MEAN", tensor("uint8", (), 0.02, 130)),
        (MEAN, "MEAN", tensor("int8", (), 0.3, -5)),
        (SUM, "SUM", tensor("uint8", (), 0.5, 3)),
        (SUM, "SUM", tensor("int8", (), 1.2, -5)),
    ],
)
@each_row(("axes", "keep_dims"), AXES)
def test_quantized_values_are_combined_without_floats(
    code: CompositeCode, kind: str, out: Any, axes: tuple[int, ...], keep_dims: int
) -> None:
    x = X[out.dtype.name]
    model = reduced(code, x, out, axes, keep_dims)
    assert kinds(model) == ([kind] if keep_dims else [kind, "RESHAPE"])
    (ours,), (theirs,) = both(model, image_of(x, 80, 104))
    assert compare(ours, theirs, STEP) is None


@pytest.mark.parametrize(
    ("x", "y", "is_whole"),
    [(2.0**-14, 1.0, True), (2.0**-15, 1.0, False), (1.0, 2.0**-7, True), (1.0, 2.0**-8, False)],
)
def test_scales_that_are_far_apart_go_through_floats(x: float, y: float, is_whole: bool) -> None:
    model = reduced(MEAN, tensor("int8", (4, 6), x, 3), tensor("int8", (), y, -2), (0,))
    assert kinds(model) == (["MEAN"] if is_whole else ["DEQUANTIZE", "MEAN", "QUANTIZE"])


@pytest.mark.parametrize(
    ("code", "shape", "is_whole"),
    [(SUM, (MOST_SUMMED, 2), True), (SUM, (MOST_SUMMED + 1, 2), False)]
    + [(code, (LONGEST_ROW + more, 1), not more) for code in (SUM, MEAN) for more in (0, 1)],
)
def test_very_many_values_are_added_as_floats(code: CompositeCode, shape: tuple[int, int], is_whole: bool) -> None:
    model = reduced(code, tensor("int8", shape, 1.0, 0), tensor("int8", (), 100.0, 0), (0,))
    assert ("DEQUANTIZE" in kinds(model)) is not is_whole


@pytest.mark.parametrize("type", ["uint8", "int8"])
def test_means_of_the_largest_values_of_a_long_row(type: str) -> None:
    """Sums of 16 bits hold 8,255 of them at most."""
    x, way = tensor(type, (2, 20_000), 0.5, 3), scalar(OperandCode.INT32, 0)
    codes = np.repeat([[np.iinfo(x.dtype).min], [np.iinfo(x.dtype).max]], 20_000, axis=1)
    agree(OperationCode.MEAN, [(x, codes), (tensor("int32", (1,)), np.array([1])), way], [x.with_dimensions((2,))])


@pytest.mark.parametrize(
    ("shape", "axes", "count"),
    [((2, 3, 4), [2], 4), ((2, 3, 4), [1], 1), ((2, 3, 4), [0, 2], 4), ((2, 3, 4), [1, 2], 12), ((2, 3, 1, 1), [1], 3)],
)
def test_what_lies_in_a_row_is_counted(shape: tuple[int, ...], axes: list[int], count: int) -> None:
    assert count_row(shape, axes) == count
