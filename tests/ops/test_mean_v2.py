"""MEAN_V2 and REDUCE_SUM_V2: kernel, decomposition and engines beside NumPy."""

from typing import Any

import numpy as np
import pytest

from nnapi import tensor
from tests.ops.composite_cases import WAYS, model_of, run
from tests.rows import each_row

RANDOM = np.random.default_rng(9)
COMBINE: dict[str, Any] = {"mean_v2": np.mean, "reduce_sum_v2": np.sum}


@each_row("way", WAYS)
@each_row("kind", COMBINE)
@each_row(("axes", "keep_dims"), [([1, 2], True), ([-1], False), ([0, 1, 2], False)])
@each_row(("type", "scale"), [("uint8", 0.05), ("int8", 0.7)])
def test_results_of_another_scale(
    type: str, scale: float, axes: list[int], keep_dims: bool, kind: str, way: str
) -> None:
    """Within one step of the exact result, which is clamped to the type's range."""
    limits = np.iinfo(type)
    x, zero = RANDOM.integers(limits.min, limits.max + 1, (3, 4, 5)).astype(type), limits.min + 100
    out = tensor(type, COMBINE[kind](x, tuple(axes), keepdims=keep_dims).shape or (1,), scale, zero)
    model = model_of(lambda b: getattr(b, kind)(b.input(tensor(type, x.shape, 0.25, zero)), axes, keep_dims, out=out))
    real = COMBINE[kind]((x.astype(np.float64) - zero) * 0.25, tuple(axes), keepdims=keep_dims).reshape(out.dimensions)
    expected = np.clip(real / scale + zero, limits.min, limits.max)
    (found,) = run(model, way, x)
    assert found.shape == out.dimensions
    assert np.abs(found - expected).max() <= (0.5 + 1e-3 if way == "nnapi-reference" else 1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", COMBINE)
def test_floats(kind: str, way: str) -> None:
    x = RANDOM.normal(size=(3, 4)).astype(np.float32)
    model = model_of(lambda b: getattr(b, kind)(b.input(tensor("float32", x.shape)), [1], False))
    np.testing.assert_allclose(run(model, way, x)[0], COMBINE[kind](x, 1), 1e-5, 1e-6)
