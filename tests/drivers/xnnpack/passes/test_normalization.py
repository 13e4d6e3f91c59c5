import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.drivers.xnnpack.passes.normalization import divide_by_roots

import nnapi
from nnapi.drivers.xnnpack import XnnpackDriver
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.formats.tflite.graph import remove_dead_operators
from nnapi.model.model import Model
from nnapi.runtime.device import Device, device
from tests.drivers.transformer_cases import X, normalize


def kinds_of(model: Model) -> set[str]:
    return {operator.kind for operator in remove_dead_operators(divide_by_roots(lower_model(model).graph)).operators}


@pytest.mark.engine
@pytest.mark.parametrize("factor", [1, 1e-18, 1e18])
def test_a_layer_normalization_has_no_reciprocal_root(factor: float) -> None:
    """Variances that are tiny, and beyond the engine's square root."""
    x, model = X * np.float32(factor), normalize(X)
    assert "SQRT" in kinds_of(model)
    assert "RSQRT" not in kinds_of(model)
    ours, expected = (
        nnapi.compile(model, [which]).run(x)[0]
        for which in (Device(XnnpackDriver(threads=1)), device("nnapi-reference"))
    )
    np.testing.assert_allclose(ours, expected, 1e-5, 1e-5)


def test_a_constant_that_is_next_to_zero_stays() -> None:
    """The engine's kernels take the smallest floats for 0."""
    assert "RSQRT" in kinds_of(normalize(X, epsilon=1e-38))
