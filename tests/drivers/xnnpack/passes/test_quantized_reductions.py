"""Means, sums, largest and least of codes that have another scale than the result."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperandCode, OperationCode
from nnapi.drivers.litert.rules.reduction import LONGEST_ROW, count_row
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.drivers.xnnpack.passes.quantized_reductions import MOST_SUMMED, reduce_quantized
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant, remove_dead_operators
from nnapi.model.operand import OperandType, tensor
from nnapi.testing.compare import SINGLE, STEP, compare
from tests.drivers.xnnpack.engine_cases import Net, agree, both
from tests.single import scalar

X = tensor("uint8", (2, 7, 5, 6), 0.05, 90)


Op = OperationCode
NAMES = {Op.MEAN: "MEAN", Op.REDUCE_SUM: "SUM", Op.REDUCE_MAX: "REDUCE_MAX", Op.REDUCE_MIN: "REDUCE_MIN"}


def reduced(
    code: OperationCode, out: Any, axes: tuple[int, ...] = (1, 2), keep_dims: int = 1, is_read_twice: bool = False
) -> Any:
    """A model that reduces X in numbers."""
    net = Net()
    kept = [1 if axis in axes else dimension for axis, dimension in enumerate(X.dimensions)]
    shape = kept if keep_dims else [dimension for axis, dimension in enumerate(X.dimensions) if axis not in axes]
    real = net.call(OperationCode.DEQUANTIZE, [net.input(X)], tensor("float32", X.dimensions))
    along = net.constant(tensor("int32", (len(axes),)), axes)
    how = OperandType(OperandCode.INT32 if code == Op.MEAN else OperandCode.BOOL)
    number = net.call(
        code, [real, along, net.constant(how, how.dtype.type(keep_dims))], tensor("float32", tuple(shape))
    )
    codes = net.call(OperationCode.QUANTIZE, [number], out.with_dimensions(tuple(shape)))
    return net.finished(codes, number) if is_read_twice else net.finished(codes)


def means(out: Any, axes: tuple[int, ...] = (1, 2), keep_dims: int = 1, is_read_twice: bool = False) -> Any:
    return reduced(Op.MEAN, out, axes, keep_dims, is_read_twice)


def kinds(model: Any) -> list[str]:
    graph = remove_dead_operators(reduce_quantized(lower_model(model).graph))
    return [operator.kind for operator in graph.operators]


@pytest.mark.parametrize("out", [tensor("uint8", (), 0.02, 130), tensor("int8", (), 0.3, -5)])
@pytest.mark.parametrize(("axes", "keep_dims"), [((1, 2), 1), ((1, 2), 0), ((3,), 1), ((0, 1, 2), 0)])
def test_codes_are_averaged_without_numbers(out: Any, axes: tuple[int, ...], keep_dims: int) -> None:
    model = means(out, axes, keep_dims)
    assert kinds(model) == (["MEAN"] if keep_dims else ["MEAN", "RESHAPE"])
    image = np.random.default_rng(3).integers(60, 160, X.dimensions, np.uint8)
    (ours,), (theirs,) = both(model, image)
    assert compare(ours, theirs, STEP) is None


def test_numbers_that_somebody_reads_are_kept() -> None:
    model = means(tensor("int8", (), 0.3, -5), is_read_twice=True)
    assert sorted(kinds(model)) == ["DEQUANTIZE", "MEAN", "MEAN"]
    image = np.random.default_rng(3).integers(60, 160, X.dimensions, np.uint8)
    for ours, theirs, tolerance in zip(*both(model, image), (STEP, SINGLE), strict=True):
        assert compare(ours, theirs, tolerance) is None


def test_scales_that_are_far_apart_go_through_numbers() -> None:
    assert kinds(means(tensor("int8", (), 1e-5, 0))) == ["DEQUANTIZE", "MEAN", "QUANTIZE"]


@pytest.mark.parametrize("out", [tensor("uint8", (), 0.5, 3), tensor("int8", (), 1.2, -5)])
@pytest.mark.parametrize(("axes", "keep_dims"), [((1, 2), 1), ((1, 2), 0), ((3,), 1), ((0, 1, 2), 0)])
def test_codes_are_summed_without_numbers(out: Any, axes: tuple[int, ...], keep_dims: int) -> None:
    model = reduced(Op.REDUCE_SUM, out, axes, keep_dims)
    assert kinds(model) == (["SUM"] if keep_dims else ["SUM", "RESHAPE"])
    image = np.random.default_rng(3).integers(80, 104, X.dimensions, np.uint8)
    (ours,), (theirs,) = both(model, image)
    assert compare(ours, theirs, STEP) is None


@pytest.mark.parametrize("code", [Op.REDUCE_MAX, Op.REDUCE_MIN])
@pytest.mark.parametrize(("axes", "keep_dims"), [((1, 2), 1), ((3,), 0)])
def test_the_ends_of_codes_are_found_without_numbers(
    code: OperationCode, axes: tuple[int, ...], keep_dims: int
) -> None:
    """Exactly, since one number is behind each code."""
    model = reduced(code, tensor("int8", (), 0.07, -5), axes, keep_dims, is_read_twice=True)
    found = kinds(model)
    assert found.index(NAMES[code]) < found.index("DEQUANTIZE")
    image = np.random.default_rng(3).integers(60, 160, X.dimensions, np.uint8)
    (ours, number), (theirs, expected) = both(model, image)
    np.testing.assert_array_equal(number, expected)
    assert compare(ours, theirs, STEP) is None


@pytest.mark.parametrize(
    ("kind", "shape", "most"),
    [("SUM", (MOST_SUMMED, 2), True), ("SUM", (MOST_SUMMED + 1, 2), False)]
    + [(kind, (LONGEST_ROW + more, 1), not more) for kind in ("SUM", "MEAN") for more in (0, 1)],
)
def test_very_many_codes_are_added_up_as_numbers(kind: str, shape: tuple[int, int], most: bool) -> None:
    x, y = Tensor("i8", shape, 0.1), Tensor("i8", (1, shape[1]), 100.0)
    real, total = Tensor("f32", x.shape), Tensor("f32", y.shape)
    operators = [Operator("DEQUANTIZE", [x], [real]), Operator(kind, [real, constant([0])], [total])]
    graph = Graph([*operators, Operator("QUANTIZE", [total], [y])], [x], [y])
    assert reduce_quantized(graph).operators[-1].kind == (kind if most else "QUANTIZE")


@pytest.mark.parametrize("type", ["uint8", "int8"])
def test_means_of_the_largest_codes_of_a_long_row(type: str) -> None:
    """Sums of 16 bits hold 8,255 of them at most."""
    x, way = tensor(type, (2, 20_000), 0.5, 3), scalar(OperandCode.INT32, 0)
    codes = np.repeat([[np.iinfo(x.dtype).min], [np.iinfo(x.dtype).max]], 20_000, axis=1)
    agree(Op.MEAN, [(x, codes), (tensor("int32", (1,)), np.array([1])), way], [x.with_dimensions((2,))])


@pytest.mark.parametrize(
    ("shape", "axes", "count"),
    [((2, 3, 4), [2], 4), ((2, 3, 4), [1], 1), ((2, 3, 4), [0, 2], 4), ((2, 3, 4), [1, 2], 12), ((2, 3, 1, 1), [1], 3)],
)
def test_what_lies_in_a_row_is_counted(shape: tuple[int, ...], axes: list[int], count: int) -> None:
    assert count_row(shape, axes) == count
