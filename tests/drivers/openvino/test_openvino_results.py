"""Results that are views of what other operations read: the engine's fault, and what the driver makes of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import FuseCode
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device, device
from tests.rows import each_row

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.api import op, ov

pytestmark = pytest.mark.engine

ENGINE, REFERENCE = Device(OpenVinoDriver(threads=1)), device("nnapi-reference")
IMAGE = (1, 4, 9, 10)
TABLE = np.array([36, 10], np.int32)
VIEWS: dict[str, Callable[[nnapi.Builder, Any], Any]] = {
    "reshape": lambda b, y: b.reshape(y, TABLE),
    "squeeze": lambda b, y: b.squeeze(y),
    "expand_dims": lambda b, y: b.expand_dims(y, 0),
    "reshape of a reshape": lambda b, y: b.expand_dims(b.reshape(y, TABLE), 1),
    "float16": lambda b, y: b.reshape(b.cast(y, out=tensor("float16", IMAGE)), TABLE),
}


def draw(*shape: int) -> Any:
    return np.random.default_rng(0).uniform(0.5, 5, shape).astype(np.float32)


@each_row("view", VIEWS)
@each_row("before", ["relu", "abs", "log"])
def test_a_view_of_what_a_convolution_reads(before: str, view: str) -> None:
    b = nnapi.Builder()
    y = getattr(b, before)(b.input(tensor("float32", IMAGE)))
    b.output(VIEWS[view](b, y))
    b.output(b.conv_2d(y, draw(8, 1, 1, 10), np.zeros(8, np.float32), 0, 0, 0, 0, 1, 1, 0))
    model, x = b.finish(), draw(*IMAGE)
    for ours, right in zip(*(nnapi.compile(model, which).run(x) for which in (ENGINE, REFERENCE)), strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-3 if ours.dtype == np.float16 else 1e-5)


READERS: dict[str, Callable[[nnapi.Builder, Any], Any]] = {
    "max_pool_2d": lambda b, y: b.max_pool_2d(y, 0, 0, 0, 0, 1, 1, 1, 1, 0),
    "resize_bilinear": lambda b, y: b.resize_bilinear(y, 3, 16, False),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("type", ["float32", "float16", "quant8_asymm"])
@pytest.mark.parametrize("views", [("reshape", "squeeze"), ("reshape", "squeeze", "expand_dims")])
def test_several_views_of_what_another_operation_reads(views: tuple[str, ...], type: str, reader: str) -> None:
    b = nnapi.Builder()
    y = b.relu(b.input(tensor(type, IMAGE, scale=0.05, zero_point=3) if "quant8" in type else tensor(type, IMAGE)))
    for view in views:
        b.output(VIEWS[view](b, y))
    b.output(READERS[reader](b, y))
    model, x = b.finish(), draw(*IMAGE)
    x = (20 * x).astype(np.uint8) if "quant8" in type else x.astype(type)
    for ours, right in zip(*(nnapi.compile(model, which).run(x) for which in (ENGINE, REFERENCE)), strict=True):
        off = np.abs(ours.astype(np.float64) - right.astype(np.float64)).max()
        assert off <= (1 if "quant8" in type else 0.005)


def test_a_view_of_what_the_engine_transposes() -> None:
    """Two results in the memory of one value: the reshape, and blocks of 1 × 1, which move nothing."""
    draw, image = np.random.default_rng(0), tensor("uint8", (1, 2, 3, 4), 1.0, 128)
    b = nnapi.Builder()
    weights, factors = (
        b.constant(draw.integers(0, 256, shape).astype(np.uint8), tensor("uint8", shape, scale, 128))
        for shape, scale in (((4, 3, 4, 8), 1.0), ((1, 1, 1, 4), 0.0058))
    )
    bias, offset = (b.constant(np.zeros(4, np.int32), tensor("int32", (4,), scale)) for scale in (1.0, 0.0058))
    x = b.input(tensor("uint8", (1, 2, 8, 16), 1.0, 128))
    y = b.grouped_conv_2d(x, weights, bias, 0, 0, 2, 0, 2, 1, 2, FuseCode.FUSED_RELU1, out=image)
    b.output(b.batch_to_space_nd(y, np.array([1, 1], np.int32)))
    columns = tensor("uint8", (1, 2, 2, 4), 0.0058, 128)
    b.output(b.depthwise_conv_2d(y, factors, offset, 0, 0, 0, 0, 2, 1, 1, FuseCode.FUSED_NONE, out=columns))
    b.output(b.reshape(y, np.array([8, 3, 1], np.int32)))
    model, values = b.finish(), draw.integers(0, 256, (1, 2, 8, 16)).astype(np.uint8)
    for ours, right in zip(*(nnapi.compile(model, which).run(values) for which in (ENGINE, REFERENCE)), strict=True):
        assert np.abs(ours.astype(int) - right).max() <= 1


def test_the_engine_still_loses_what_others_read_of_a_view_that_is_a_result() -> None:
    """Without the driver. Where this fails the engine is mended: ``_is_view`` need not copy floats any more."""
    x = op.parameter(list(IMAGE), np.float32)
    y = op.relu(x)
    view = op.reshape(y, op.constant(TABLE), False)
    image = op.transpose(y, op.constant(np.array([0, 3, 1, 2])))
    filters = op.constant(draw(8, 10, 1, 1))
    convolved = op.convolution(image, filters, [1, 1], [0, 0], [0, 0], [1, 1])
    result = op.transpose(convolved, op.constant(np.array([0, 2, 3, 1])))
    both, alone = (
        ov.Core().compile_model(ov.Model(results, [x]), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([draw(*IMAGE)])
        for results in ([view, result], [result])
    )
    assert not np.allclose(both[1], alone[0])
