"""Maxima and minima of infinities alone: the engine's fault, and what the driver makes of it."""

from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.model.operand import Array, tensor
from nnapi.runtime.device import Device
from tests.rows import each_row

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.engine import lower_model

pytestmark = pytest.mark.engine

ENGINE = Device(OpenVinoDriver(threads=1))
LOWEST = np.finfo(np.float32).min
ROWS = np.array([[-np.inf] * 3, [LOWEST, -np.inf, LOWEST], [-1.2e-38, -2, -3], [np.inf, 1, -np.inf]], np.float32)


@each_row("axes", [[1], [0], [0, 1]])
@each_row("rows", [ROWS, ROWS[:2], ROWS[:1]], ids=len)
@each_row("which", ["reduce_max", "reduce_min"])
def test_reductions(which: str, rows: Array, axes: list[int]) -> None:
    x = rows if which == "reduce_max" else -rows
    b = nnapi.Builder()
    b.output(getattr(b, which)(b.input(tensor("float32", x.shape)), np.array(axes, np.int32), True))
    (ours,) = nnapi.compile(b.finish(), ENGINE).run(x)
    right = np.max if which == "reduce_max" else np.min
    np.testing.assert_array_equal(ours, right(x, tuple(axes), keepdims=True))


def pooled(activation: int, before: str = "") -> Any:
    b = nnapi.Builder()
    x = b.input(tensor("float32", (1, 4, 4, 2)))
    b.output(b.max_pool_2d(getattr(b, before)(x) if before else x, 0, 0, 0, 0, 2, 2, 2, 2, activation))
    return b.finish()


@pytest.mark.parametrize("activation", [0, 1])
def test_windows(activation: int) -> None:
    image = np.full((1, 4, 4, 2), -np.inf, np.float32)
    image[0, :2, 2:] = LOWEST
    image[0, 2, 0, 0] = -1.2e-38
    (ours,) = nnapi.compile(pooled(activation), ENGINE).run(image)
    right = image.reshape(1, 2, 2, 2, 2, 2).max((2, 4))
    np.testing.assert_array_equal(ours, np.maximum(right, 0) if activation else right)


@pytest.mark.parametrize(("before", "count"), [("", 2), ("relu", 0), ("relu6", 0), ("abs", 2)])
def test_nothing_is_added_behind_an_activation_that_gives_no_infinity(before: str, count: int) -> None:
    """The correction costs a pass over the image."""
    nodes = lower_model(pooled(0, before)).graph().get_ordered_ops()
    assert sum(node.get_type_name() == "PRelu" for node in nodes) == count


def test_the_engine_still_begins_a_maximum_at_the_lowest_float() -> None:
    """Without the driver. Where this fails the engine is mended: ``find_maximum`` is no longer needed."""
    x = op.parameter([2], np.float32)
    largest = op.reduce_max(x, op.constant(np.array([0])), True)
    compiled = ov.Core().compile_model(ov.Model([largest], [x]), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    assert compiled([np.full(2, -np.inf, np.float32)])[0] == LOWEST


@pytest.mark.parametrize(
    ("operation", "factor", "x"), [("div", 0.0, 0), ("div", -0.0, 0), ("mul", np.inf, 2), ("mul", -np.inf, 2)]
)
@pytest.mark.parametrize("activation", [1, 2, 3])
def test_an_infinite_factor_beside_quantized_values(operation: str, factor: float, x: float, activation: int) -> None:
    """The engine moves the clamp of floats before a constant factor, if anything in the model is quantized."""
    b = nnapi.Builder()
    image, stored = b.input(tensor("float32", (1, 1, 1, 4))), b.input(tensor("quant8_asymm", (4,), 0.5, 128))
    real = b.dequantize(stored, out=tensor("float32", (4,)))
    b.output(b.quantize(b.tanh(real), out=tensor("quant8_asymm", (4,), 0.01, 100)))
    b.output(getattr(b, operation)(image, b.constant(np.array([factor], np.float32)), activation))
    given = np.array([1, -1, x, np.inf], np.float32).reshape(1, 1, 1, 4), np.full(4, 128, np.uint8)
    model = b.finish()
    (_, ours), (_, right) = (nnapi.compile(model, device).run(*given) for device in (ENGINE, "nnapi-reference"))
    np.testing.assert_array_equal(ours, right)
