"""Means of codes that have another scale than the result."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperationCode
from nnapi.drivers.xnnpack.compile import lower_model
from nnapi.drivers.xnnpack.passes.dead_code import remove_dead_operators
from nnapi.drivers.xnnpack.passes.fuse_mean import fuse_mean
from nnapi.model.operand import tensor
from nnapi.testing.compare import SINGLE, STEP, compare
from tests.drivers.xnnpack.engine_cases import Net, both

X = tensor("uint8", (2, 7, 5, 6), 0.05, 90)


def means(out: Any, axes: tuple[int, ...] = (1, 2), keep_dims: int = 1, is_read_twice: bool = False) -> Any:
    """A model that averages X in numbers."""
    net = Net()
    kept = [1 if axis in axes else dimension for axis, dimension in enumerate(X.dimensions)]
    shape = kept if keep_dims else [dimension for axis, dimension in enumerate(X.dimensions) if axis not in axes]
    real = net.call(OperationCode.DEQUANTIZE, [net.input(X)], tensor("float32", X.dimensions))
    along = net.constant(tensor("int32", (len(axes),)), axes)
    mean = net.call(OperationCode.MEAN, [real, along, *net.numbers(keep_dims)], tensor("float32", tuple(shape)))
    codes = net.call(OperationCode.QUANTIZE, [mean], out.with_dimensions(tuple(shape)))
    return net.finished(codes, mean) if is_read_twice else net.finished(codes)


def kinds(model: Any) -> list[str]:
    graph = remove_dead_operators(fuse_mean(lower_model(model).graph))
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
