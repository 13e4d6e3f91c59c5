"""Attention whose result several operations read, or an operation that the engine's groups cannot compute."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import FuseCode
from nnapi.compiling import compile
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device, device

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.attention_groups import ends_search
from nnapi.drivers.openvino.engine import lower_model

pytestmark = pytest.mark.engine

ENGINE, REFERENCE = Device(OpenVinoDriver(threads=1)), device("nnapi-reference")
Write = Callable[[nnapi.Builder, Any, Any], list[Any]]
"""Writes operations behind an attention, which may read a column too; returns the outputs."""


def make_attention(write: Write) -> nnapi.Model:
    builder = nnapi.Builder()
    query, key, value, column = (builder.input(tensor("float32", (2, 16, size))) for size in (8, 8, 8, 1))
    builder.output(*write(builder, builder.attention(query, key, value, None, 1.0), column))
    return builder.finish()


def divide(builder: nnapi.Builder, x: Any, column: Any) -> list[Any]:
    return [builder.div(x, column, FuseCode.FUSED_RELU)]  # the activation reads the quotient twice


def subtract(builder: nnapi.Builder, x: Any, column: Any) -> list[Any]:
    difference = builder.sub(builder.abs(x), column, 0)
    return [builder.sin(difference), builder.exp(difference)]


def read_twice(builder: nnapi.Builder, x: Any, column: Any) -> list[Any]:
    return [x, builder.add(x, builder.floor(builder.mul(column, column, 0)), 0)]


def transpose(builder: nnapi.Builder, x: Any, column: Any) -> list[Any]:
    return [builder.transpose(builder.mul(x, column, 0), np.array([1, 0, 2], np.int32))]


def mish(builder: nnapi.Builder, x: Any, column: Any) -> list[Any]:
    return [builder.mish(x)]


@pytest.mark.parametrize(
    ("write", "ends"), [(divide, True), (subtract, True), (read_twice, True), (transpose, False), (mish, False)]
)
def test_operations_behind_an_attention(write: Write, ends: bool) -> None:
    """The process ended when the engine compiled three of the models; with MISH, it found no group."""
    model = make_attention(write)
    assert ends_search(lower_model(model).graph()) == ends
    draw = np.random.default_rng(0)
    given = [draw.uniform(0.5, 1.5, model.operands[index].type.dimensions).astype(np.float32) for index in model.inputs]
    for ours, right in zip(*(compile(model, [which]).run(*given) for which in (ENGINE, REFERENCE)), strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-5, atol=1e-5)
