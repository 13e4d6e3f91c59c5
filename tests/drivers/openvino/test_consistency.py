"""Graphs whose sizes the engine confuses: nothing is run that writes beyond its memory."""

from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.contract.driver import PrepareOptions
from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver, engine
from nnapi.drivers.openvino.api import op, ov
from nnapi.drivers.openvino.consistency import need_consistent
from nnapi.drivers.openvino.rules import convolution

pytestmark = pytest.mark.engine

ENGINE = Device(OpenVinoDriver(threads=1))


def constants(*lists: list[int]) -> list[Any]:
    return [op.constant(np.array(values, np.int64)) for values in lists]


def compile_graph(before: Any, y: Any) -> Any:
    return engine.core().compile_model(ov.Model([op.result(y)], [before], "graph"), "CPU", {})


def test_a_graph_that_agrees_with_itself() -> None:
    x = op.parameter([1, 8, 8, 2], ov.Type.f32)
    need_consistent(
        compile_graph(x, op.reshape(op.transpose(op.relu(x), *constants([0, 3, 1, 2])), *constants([-1]), False))
    )


def test_padding_that_the_engine_forgets() -> None:
    """Without one of these errors, the rule for convolutions no longer needs to keep padding from the engine."""
    x, one = op.parameter([1, 8, 8, 1], ov.Type.f32), op.constant(np.ones((1, 1, 1, 1), np.float32))
    inner = op.relu(op.transpose(x, *constants([0, 3, 1, 2])))
    padded = op.pad(inner, *constants([0, 0, 1, 1], [0, 0, 1, 1]), "constant", op.constant(np.float32(0)))
    strided = op.convolution(padded, one, [2, 2], [0, 0], [0, 0], [1, 1])
    compiled = compile_graph(x, op.transpose(op.relu(strided), *constants([0, 2, 3, 1])))
    with pytest.raises(OpFailedError, match=r"turns the dimensions \[1, 1, 6, 6\] into \[1, 5, 5, 1\]"):
        need_consistent(compiled)


def make_model(padding: list[list[int]], between: bool = False) -> nnapi.Model:
    """A convolution, PAD, and a strided convolution with 1×1 windows; maybe one without a stride between."""
    b = nnapi.Builder()
    ones, nothing = np.ones((1, 1, 1, 1), np.float32), np.zeros(1, np.float32)

    def convolve(x: Any, stride: int) -> Any:
        return b.conv_2d(x, ones, nothing, 0, 0, 0, 0, stride, stride, "relu")

    x = b.pad(convolve(b.input(tensor("float32", (1, 8, 8, 1))), 1), np.array(padding, np.int32))
    b.output(convolve(convolve(x, 1) if between else x, 2))
    return b.finish()


AROUND, BEFORE = [[0, 0], [1, 1], [1, 1], [0, 0]], [[0, 0], [1, 0], [1, 0], [0, 0]]


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("padding", [AROUND, BEFORE])
def test_padding_before_strided_convolutions(padding: list[list[int]], between: bool) -> None:
    x = np.arange(64, dtype=np.float32).reshape(1, 8, 8, 1)
    (y,) = nnapi.compile(make_model(padding, between), [ENGINE]).run(x)
    np.testing.assert_array_equal(y, np.pad(x, padding)[:, ::2, ::2])


def test_windows_in_the_padding() -> None:
    """The engine fuses the padding; with strides, its kernel then ends the process."""
    b, x = nnapi.Builder(), np.full((1, 1, 1, 1), 3, np.float32)
    one, tall = np.ones((1, 1, 1, 1), np.float32), np.ones((1, 2, 1, 3), np.float32)
    image, nothing = b.input(tensor("float32", x.shape)), np.zeros(3, np.float32)
    inner = b.depthwise_conv_2d(image, one, nothing[:1], 0, 0, 0, 0, 1, 1, 1, "none")
    padded = b.pad(inner, np.array([[0, 0], [3, 1], [3, 1], [0, 0]], np.int32))
    b.output(b.depthwise_conv_2d(padded, tall, nothing, 0, 0, 1, 0, 2, 2, 3, "none"))
    model = b.finish()
    ours, expected = (nnapi.compile(model, [each]).run(x)[0] for each in (ENGINE, nnapi.device("nnapi-reference")))
    np.testing.assert_array_equal(ours, expected)


def test_images_that_are_stored_in_two_orders() -> None:
    """The engine would round in the memory of an image of which another reader needs a transpose."""
    b, x = nnapi.Builder(), np.array([[[[-100, 77]]]], np.int8)
    wide = b.resize_bilinear(b.input(tensor("quant8_asymm_signed", x.shape, 0.1668192, 0)), 32, 5, False, False)
    small = b.resize_bilinear(wide, 5, 5, False, False, True)
    b.output(wide, small, b.resize_nearest_neighbor(wide, 1.0, 0.09375, True, True, False))
    model = b.finish()
    ours, right = (nnapi.compile(model, [each]).run(x) for each in (ENGINE, nnapi.device("nnapi-reference")))
    for found, expected in zip(ours, right, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("scheme", [1, 2])
def test_padding_before_transposed_convolutions(scheme: int, stride: int) -> None:
    """The engine would take the padding off the result once, not once for each stride."""
    random, b = np.random.default_rng(0), nnapi.Builder()
    x, filter = (random.integers(-9, 10, shape).astype(np.float32) for shape in ((1, 4, 3, 2), (2, 5, 5, 2)))
    image, nothing = b.input(tensor("float32", x.shape)), np.zeros(2, np.float32)
    inner = b.conv_2d(image, filter[:, :1, :1], nothing, 0, 0, 0, 0, 1, 1, "none")
    padded = b.pad(inner, np.array(AROUND, np.int32))
    wanted = [1, *((size * stride if scheme == 1 else (size - 1) * stride + 5) for size in (6, 5)), 2]
    b.output(b.transpose_conv_2d(padded, filter, nothing, wanted, scheme, stride, stride, "none", False))
    model = b.finish()
    ours, expected = (nnapi.compile(model, [each]).run(x)[0] for each in (ENGINE, nnapi.device("nnapi-reference")))
    np.testing.assert_array_equal(ours, expected)


def test_a_model_that_the_engine_confuses_is_not_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolution, "separate_padding", lambda x: x)
    model = make_model(AROUND)
    with pytest.raises(OpFailedError, match="OpenVINO makes a graph in which"):
        OpenVinoDriver(threads=1).prepare(model, PrepareOptions())
    compilation = nnapi.compile(model, [ENGINE, nnapi.device("nnapi-reference")])
    (y,) = compilation.run(np.ones((1, 8, 8, 1), np.float32))
    assert y[0, :, :, 0].tolist() == [[0] * 5, *[[0, 1, 1, 1, 1]] * 4]
