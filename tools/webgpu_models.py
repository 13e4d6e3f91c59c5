"""Small models with ranks and types that are frequent in networks, but that the conformance examples lack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from nnapi import Builder, Model, OperandType, tensor
from nnapi.errors import BadDataError, NnapiError
from nnapi.model.builder import Tensor

SHAPES = ((7,), (3, 5), (2, 3, 4), (1, 4, 5, 6))
IMAGE = SHAPES[-1]
QUANTIZATION = {"scale": 0.25, "zero_point": 3}
TYPES: dict[str, dict[str, Any]] = {
    "float32": {},
    "quant8_asymm": QUANTIZATION,
    "quant8_asymm_signed": QUANTIZATION,
}
FLOAT = {"float32": TYPES["float32"]}
POINTWISE = ("abs", "exp", "floor", "log", "neg", "rsqrt", "sin", "sqrt")
CLAMPS = ("relu", "relu6", "relu1", "hard_swish")
PAIRWISE = ("add", "sub", "mul", "div", "maximum", "minimum")
REDUCTIONS = ("mean", "reduce_max", "reduce_min", "reduce_sum")
CONSTANTS = ((6,), (1,), (4, 1, 1), IMAGE)
Use = Callable[..., Any]


def make_models() -> Iterator[Model]:
    """Yield all models; their inputs have static dimensions."""
    yield from _make_unary()
    yield from _make_pairwise()
    yield from _make_movement()
    yield from _make_filters()


def _make_unary() -> Iterator[Model]:
    for shape in SHAPES:
        for name in POINTWISE:
            yield from _over(FLOAT, shape, name, lambda net, x, name=name: _call(net, name, x))
        for name in CLAMPS:
            yield from _over(TYPES, shape, name, lambda net, x, name=name: _call(net, name, x))
        for name in ("logistic", "tanh"):
            yield from _over(FLOAT, shape, name, lambda net, x, name=name: _call(net, name, x))
        yield from _over(TYPES, shape, "softmax", lambda net, x: net.softmax(x, 1.0))
        yield from _over(
            FLOAT, shape, "quantize", lambda net, x: net.dequantize(net.quantize(x, scale=0.5, zero_point=7))
        )
        for name in REDUCTIONS:
            for axes in {(0,), (len(shape) - 1,), *([(1, 2)] if len(shape) == 4 else [])}:
                for keep in (False, True):
                    types = FLOAT if name == "reduce_sum" else TYPES
                    use = lambda net, x, name=name, axes=axes, keep=keep: _call(net, name, x, list(axes), keep)  # noqa: E731
                    yield from _over(types, shape, name, use)
        yield from _over(TYPES, shape, "argmax", lambda net, x: net.argmax(x, -1))


def _make_pairwise() -> Iterator[Model]:
    for name in PAIRWISE:
        for shape in SHAPES:
            yield from _over(TYPES, shape, name, lambda net, x, name=name: _call(net, name, x, net.input(x.type)))
        yield from _over(FLOAT, (3, 5), name, partial(_call_with_row, name=name))
        for shape in CONSTANTS:
            yield from _over(TYPES, IMAGE, name, partial(_call_with_constant, name=name, shape=shape))


def _call_with_constant(net: Builder, x: Tensor, name: str, shape: tuple[int, ...]) -> Tensor:
    return _call(net, name, x, net.constant(*_constant(x.type, shape)))


def _call_with_row(net: Builder, x: Tensor, name: str) -> Tensor:
    return _call(net, name, x, net.input(x.type.with_dimensions(x.type.dimensions[-1:])))


def _make_movement() -> Iterator[Model]:
    for shape in SHAPES:
        rank = len(shape)
        for other in SHAPES[: rank + 1]:
            target = [*[1] * (len(other) - 1), int(np.prod(shape))]
            yield from _over(TYPES, shape, "reshape", lambda net, x, target=target: net.reshape(x, target))
        for axis in range(rank):
            yield from _over(TYPES, shape, "concatenation", lambda net, x, axis=axis: net.concatenation([x, x], axis))
            pads = np.zeros((rank, 2), np.int32)
            pads[axis] = 1, 2
            yield from _over(TYPES, shape, "pad", lambda net, x, pads=pads: net.pad(x, pads))
            begin, size = np.zeros(rank, np.int32), np.array(shape, np.int32)
            begin[axis], size[axis] = shape[axis] > 1, max(shape[axis] - 2, 1)
            yield from _over(TYPES, shape, "slice", lambda net, x, begin=begin, size=size: net.slice(x, begin, size))
            if shape[axis] % 2 == 0:
                yield from _over(TYPES, shape, "split", lambda net, x, axis=axis: net.split(x, axis, 2))
        if rank > 1:
            for order in [*permutations(range(rank))][1:]:
                yield from _over(FLOAT, shape, "transpose", lambda net, x, order=order: net.transpose(x, list(order)))
    around = np.array([[0, 0], [1, 2], [2, 1], [0, 0]], np.int32)
    yield from _over(TYPES, IMAGE, "pad", lambda net, x: net.pad(x, around))


def _make_filters() -> Iterator[Model]:
    """Yield models with quantized filters whose values all have the same sign, which a symmetric type cannot hold, and
    with groups or strides."""
    window = {"padding_scheme": 1, "stride_w": 1, "stride_h": 1}
    yield _use_filter("conv_2d", IMAGE, (8, 3, 3, 6), 0, **window)
    yield _use_filter("depthwise_conv_2d", IMAGE, (1, 3, 3, 6), 0, multiplier=1, **window)
    yield _use_filter("fully_connected", (2, 6), (8, 6), 0)
    inside = {"pad_left": 0, "pad_right": 0, "pad_top": 0, "pad_bottom": 0, "stride_w": 1, "stride_h": 1}
    for side, (outputs, inputs, groups) in ((8, (8, 8, 2)), (5, (9, 6, 3)), (2, (2, 2, 2)), (4, (16, 32, 4))):
        for zero in (0, 125):
            shape, filter = (1, side, side, inputs), (outputs, 2, 2, inputs // groups)
            if not outputs % groups and not inputs % groups:
                yield _use_filter("grouped_conv_2d", shape, filter, zero, num_groups=groups, **inside)
    for side, channels in ((4, 4), (8, 8), (32, 16)):
        for zero in (0, 125):
            strides = {**inside, "stride_w": 2, "stride_h": 2}
            yield _use_filter("conv_2d", (1, side, side, channels), (2 * channels, 1, 1, channels), zero, **strides)
        yield from _over(FLOAT, (1, side, side, channels), "conv_2d, stride 2", _convolve_with_stride)


def _convolve_with_stride(net: Builder, x: Tensor) -> Tensor:
    """Add a 1 × 1 convolution with stride 2, which skips three quarters of the image."""
    channels = x.type.dimensions[3]
    filter = np.resize(np.arange(-8, 9, dtype=np.float32), (2 * channels, 1, 1, channels)) / 8
    result: Tensor = net.conv_2d(
        x, filter, np.zeros(2 * channels, np.float32), padding_scheme=2, stride_w=2, stride_h=2
    )
    return result


def _use_filter(name: str, shape: tuple[int, ...], filter: tuple[int, ...], zero: int, **options: Any) -> Model:
    """Make a model with a filter of type quant8_asymm and the zero point ``zero``."""
    net = Builder(f"{name}{list(shape)}, filter{list(filter)} from {-zero}")
    values = np.resize(np.arange(0, 250, 5), filter).astype(np.uint8)
    biases = np.arange(filter[-1] if filter[0] == 1 else filter[0], dtype=np.int32) * 40
    x = net.input(tensor("quant8_asymm", shape, scale=0.25, zero_point=3))
    weights = net.constant(values, tensor("quant8_asymm", filter, scale=0.02, zero_point=zero))
    bias = net.constant(biases, tensor("int32", biases.shape, scale=0.25 * 0.02))
    net.output(getattr(net, name)(x, weights, bias, **options, scale=4.0, zero_point=9))
    return net.finish()


def _over(types: dict[str, dict[str, Any]], shape: tuple[int, ...], name: str, use: Use) -> Iterator[Model]:
    """Yield a model for each type that the operation accepts."""
    for code, quantization in types.items():
        net = Builder(f"{name}, {code}{list(shape)}")
        try:
            made = use(net, net.input(tensor(code, shape, **quantization)))
        except NnapiError:
            continue
        net.output(*made if isinstance(made, tuple | list) else (made,))
        yield net.finish()


def _constant(type: OperandType, shape: tuple[int, ...]) -> tuple[Any, OperandType]:
    values = np.resize([1.5, 2, 0.25, 4], shape)
    if type.scale:
        values = np.rint(values / type.scale) + type.zero_point
    return values.astype(type.dtype), type.with_dimensions(shape)


def _call(net: Builder, name: str, *given: Any) -> Tensor:
    """Add an operation; give its result a scale if it needs one."""
    call = getattr(net, name)
    try:
        result: Tensor = call(*given)
    except BadDataError:
        result = call(*given, scale=0.5, zero_point=9)
    return result


def draw_inputs(model: Model) -> list[Any]:
    """Return positive floats or quantized values for each input, which differ between inputs."""
    return [_draw(model.operands[index].type, 1 + number) for number, index in enumerate(model.inputs)]


def _draw(type: OperandType, step: int) -> Any:
    positions = step * np.arange(np.prod(type.dimensions)).reshape(type.dimensions)
    values = positions % 97 + 8 if type.scale else positions * 0.37 % 5 + 0.1
    return values.astype(type.dtype)
