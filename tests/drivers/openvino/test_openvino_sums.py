"""Quantized sums of products that cancel each other, in results with much finer steps than the products'."""

from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.model.operand import ChannelQuantization, OperandType, tensor
from nnapi.runtime.device import Device
from tests.rows import each_row

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver

pytestmark = pytest.mark.engine

ENGINE = Device(OpenVinoDriver(threads=1))
CHANNELS, SCALE, WEIGHT, FINE = 8, 8.6488, 0.4379, 0.00116
FILTERS = {
    "conv_2d": (4, 3, 3, CHANNELS),
    "depthwise_conv_2d": (1, 3, 3, CHANNELS),
    "grouped_conv_2d": (4, 3, 3, CHANNELS // 2),
    "transpose_conv_2d": (4, 3, 3, CHANNELS),
    "fully_connected": (4, 9 * CHANNELS),
}
ARGUMENTS = {  # a window, or for transpose_conv_2d the padding, that leaves one row and one column
    "conv_2d": (2, 1, 1, 0),
    "depthwise_conv_2d": (2, 1, 1, 1, 0),
    "grouped_conv_2d": (2, 1, 1, 2, 0),
    "transpose_conv_2d": (2, 2, 2, 2, 1, 1, 0),
    "fully_connected": (0,),
}


def add_products(name: str, x: Any, filter: Any) -> Any:
    """Return the sum of products of every channel, as integers."""
    if name == "depthwise_conv_2d":
        return (x * filter)[0].sum((0, 1))
    if name == "transpose_conv_2d":
        return (x[:, ::-1, ::-1] * filter).sum((1, 2, 3))
    if name == "grouped_conv_2d":
        groups = np.split(x, 2, 3)
        return np.array([(groups[unit // 2] * each).sum() for unit, each in enumerate(filter)])
    return (x.reshape(-1, *filter.shape[1:]) * filter).reshape(len(filter), -1).sum(1)


@each_row("is_constant", [False, True])
@each_row(
    ("name", "is_per_channel"), [*((name, False) for name in FILTERS), *((name, True) for name in list(FILTERS)[:4])]
)
def test_products_that_cancel_each_other(name: str, is_constant: bool, is_per_channel: bool) -> None:
    draw, shape = np.random.default_rng(0), FILTERS[name]
    x, filter = draw.integers(0, 256, (1, 3, 3, CHANNELS)), draw.integers(-128, 128, shape)
    sums = add_products(name, x - 128, filter)
    units = len(sums)
    type = tensor("int8", shape, WEIGHT)
    if is_per_channel:
        scales = ChannelQuantization(
            3 if "depthwise" in name else 0, tuple([WEIGHT / (1 + each) for each in range(units)])
        )
        type = OperandType(nnapi.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, shape, channel=scales)
    b = nnapi.Builder()
    image = b.input(tensor("int8", x.shape, SCALE, 0))
    if name == "fully_connected":
        image = b.reshape(image, np.array([1, 9 * CHANNELS], np.int32))
    weights = b.constant(filter.astype(np.int8), type) if is_constant else b.input(type)
    bias = b.constant((-sums).astype(np.int32), tensor("int32", (units,), 0.0 if is_per_channel else SCALE * WEIGHT))
    out = (1, units) if name == "fully_connected" else (1, 1, 1, units)
    b.output(getattr(b, name)(image, weights, bias, *ARGUMENTS[name], out=tensor("int8", out, FINE, 0)))
    values = [(x - 128).astype(np.int8), *([] if is_constant else [filter.astype(np.int8)])]
    model = b.finish()
    (ours,) = nnapi.compile(model, ENGINE).run(*values)
    assert ours.reshape(-1).tolist() == [0] * units


@pytest.mark.parametrize("adj_y", [False, True])
@pytest.mark.parametrize("is_constant", [False, True])
def test_products_with_the_zero_point_are_zero(is_constant: bool, adj_y: bool) -> None:
    """The float of a zero point is slightly off 0; times 1,800, it would be two steps of the result."""
    shape = (3, 2) if adj_y else (2, 3)
    left, right = tensor("int8", (4, 2), 12.63516, 50), tensor("int8", shape, 24.01868, 97)
    y = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    b = nnapi.Builder()
    x = b.input(left)
    other = b.constant(y, right) if is_constant else b.input(right)
    b.output(b.batch_matmul(x, other, False, adj_y, out=tensor("int8", (4, 3), 0.06542237, -128)))
    zeros = np.full((4, 2), 50, np.int8)
    (ours,) = nnapi.compile(b.finish(), ENGINE).run(*([zeros] if is_constant else [zeros, y]))
    assert (ours == -128).all()
