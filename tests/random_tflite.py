"""Random quantized .tflite files of one operation each, legal for LiteRT and NNAPI, with inputs for them.

Scales are drawn so that results spread over the output's codes instead of piling up at their ends: a convolution's
output scale follows from how far a sum of that many products is likely to reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi.model.operand import Array, Shape
from nnapi.testing.random.values import pick
from tests.tflite_writer import T, const, single

UINT8, INT8, PER_CHANNEL = "uint8", "int8", "per-channel"
SAME, VALID = 0, 1
NO_ACTIVATION, RELU, RELU_N1_TO_1, RELU6 = 0, 1, 2, 3

Draw = Callable[[np.random.Generator, str], bytes]
"""From the random generator and one of the types to a file."""


@dataclass(frozen=True)
class Kind:
    """An operation and the type of its codes: uint8, int8, or int8 with filters that have a scale per channel."""

    operation: str
    type: str

    def __str__(self) -> str:
        return f"{self.operation} {self.type}"


def random_model(kind: Kind, rng: np.random.Generator) -> bytes:
    """The file of one random operation; all inputs of the model hold 8-bit codes."""
    return DRAWS[kind.operation](rng, kind.type)


def random_codes(shape: Shape, dtype: Any, rng: np.random.Generator) -> Array:
    """Codes over the whole range or, now and then, a few neighboring ones only."""
    limits = np.iinfo(dtype)
    low, high = sorted(rng.integers(limits.min, limits.max + 1, 2).tolist()) if rng.random() < 0.2 else (-256, 256)
    return rng.integers(max(low, limits.min), min(high, limits.max), shape, dtype, endpoint=True)


# Tensors


def _tensor(rng: np.random.Generator, type: str, *shape: int, scale: float | None = None) -> T:
    """A tensor of any scale and zero point, which lies at an end of the codes now and then."""
    limits = _limits(type)
    any_code = int(rng.integers(limits.min, limits.max + 1))
    zero_point = any_code if rng.random() < 0.8 else pick(rng, (int(limits.min), int(limits.max)))
    return T(_to_tensor_type(type), shape, _scale(rng) if scale is None else scale, zero_point)


def _to_tensor_type(type: str) -> str:
    return "UINT8" if type == UINT8 else "INT8"


def _limits(type: str) -> np.iinfo[Any]:
    return np.iinfo(np.uint8 if type == UINT8 else np.int8)


def _scale(rng: np.random.Generator, low: float = 1e-5, high: float = 20.0) -> float:
    """A float32 scale, all orders of magnitude alike."""
    return float(np.float32(math.exp(rng.uniform(math.log(low), math.log(high)))))


def _gentle(rng: np.random.Generator) -> float:
    """A scale that does not drive every result of a saturating function to its limits."""
    return _scale(rng, 1e-3, 0.5)


def _filter(rng: np.random.Generator, type: str, shape: Shape, channel: int) -> T:
    """Constant weights; signed ones lie around zero, and none is -128, as the format demands."""
    if type == UINT8:
        weights = _tensor(rng, type, *shape)
        return weights.of(random_codes(shape, np.uint8, rng))
    scale: Any = _scale(rng)
    if type == PER_CHANNEL:
        scale = [scale * _scale(rng, 0.2, 2.0) for _ in range(shape[channel])]
    return T("INT8", shape, scale, 0, rng.integers(-127, 128, shape), channel)


def _bias(rng: np.random.Generator, input: T, filter: T, channels: int, reach: float) -> T:
    """Numbers up to ``reach`` steps of the sum, in units of the product of the scales."""
    scales = np.float32(input.scale) * np.asarray(filter.scale, np.float32)
    return T("INT32", (channels,), scales.tolist(), 0, rng.normal(0, reach / 2, channels).astype(np.int32))


def _reach(input: T, filter: T, products: int) -> float:
    """How large a sum of so many products of codes is likely to become."""
    return math.sqrt(products) * _spread(input) * _spread(filter)


def _spread(tensor: T) -> float:
    """The root of the mean square of codes, less their zero point, that are spread evenly."""
    low = 0 if tensor.type == "UINT8" else -128
    return math.hypot(low + 127.5 - tensor.zero_point, 256 / math.sqrt(12))


def _spread_over_codes(rng: np.random.Generator, reach: float) -> float:
    """The scale that lays numbers of this typical size 15 to 100 codes off the zero point."""
    return float(np.float32(reach / rng.uniform(15, 100)))


def _shape(rng: np.random.Generator, rank: int, highest: int = 9) -> Shape:
    return tuple(int(dimension) for dimension in rng.integers(1, highest, rank))


def _activation(rng: np.random.Generator) -> int:
    return pick(rng, (NO_ACTIVATION, NO_ACTIVATION, RELU, RELU_N1_TO_1, RELU6))


# Windows that slide over images


@dataclass(frozen=True)
class _Windows:
    """A legal choice of dimensions for one axis."""

    dimension: int
    size: int
    stride: int
    dilation: int
    out: int


def _windows(rng: np.random.Generator, padding: int, dilated: bool = False) -> _Windows:
    size, stride = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    dilation = int(rng.integers(2, 4)) if dilated else 1
    reach = (size - 1) * dilation + 1
    dimension = int(rng.integers(reach, reach + 8))
    out = -(-dimension // stride) if padding == SAME else (dimension - reach) // stride + 1
    return _Windows(dimension, size, stride, dilation, out)


def _place(padding: int, down: _Windows, across: _Windows) -> dict[str, int]:
    return {"Padding": padding, "StrideH": down.stride, "StrideW": across.stride}


def _dilation(down: _Windows, across: _Windows) -> dict[str, int]:
    return {"DilationHFactor": down.dilation, "DilationWFactor": across.dilation}


def conv_2d(rng: np.random.Generator, type: str) -> bytes:
    padding, dilated = pick(rng, (SAME, VALID)), rng.random() < 0.2
    down, across = _windows(rng, padding, dilated), _windows(rng, padding, dilated)
    batches, depth, channels = int(rng.integers(1, 3)), int(rng.integers(1, 20)), int(rng.integers(1, 20))
    x = _tensor(rng, type, batches, down.dimension, across.dimension, depth)
    filter = _filter(rng, type, (channels, down.size, across.size, depth), 0)
    fields = _place(padding, down, across) | _dilation(down, across)
    shape = (batches, down.out, across.out, channels)
    products = down.size * across.size * depth
    return _write_weighted_sum(rng, type, "CONV_2D", "Conv2DOptions", (x, filter), products, channels, shape, fields)


def depthwise_conv_2d(rng: np.random.Generator, type: str) -> bytes:
    padding, dilated = pick(rng, (SAME, VALID)), rng.random() < 0.2
    down, across = _windows(rng, padding, dilated), _windows(rng, padding, dilated)
    batches, depth, multiplier = int(rng.integers(1, 3)), int(rng.integers(1, 20)), pick(rng, (1, 1, 1, 2, 3, 4, 8))
    channels = depth * multiplier
    x = _tensor(rng, type, batches, down.dimension, across.dimension, depth)
    filter = _filter(rng, type, (1, down.size, across.size, channels), 3)
    fields = _place(padding, down, across) | _dilation(down, across) | {"DepthMultiplier": multiplier}
    shape, products = (batches, down.out, across.out, channels), down.size * across.size
    options = "DepthwiseConv2DOptions"
    return _write_weighted_sum(rng, type, "DEPTHWISE_CONV_2D", options, (x, filter), products, channels, shape, fields)


def fully_connected(rng: np.random.Generator, type: str) -> bytes:
    units, depth = int(rng.integers(1, 40)), int(rng.integers(1, 300))
    outer = _shape(rng, pick(rng, (1, 1, 2, 3)), 4)
    x, weights = _tensor(rng, type, *outer, depth), _filter(rng, type, (units, depth), 0)
    shape = (math.prod(outer), units)
    return _write_weighted_sum(
        rng, type, "FULLY_CONNECTED", "FullyConnectedOptions", (x, weights), depth, units, shape, {}
    )


def _write_weighted_sum(
    rng: np.random.Generator,
    type: str,
    kind: str,
    options: str,
    operands: tuple[T, T],
    products: int,
    channels: int,
    shape: Shape,
    fields: Mapping[str, int],
) -> bytes:
    """The file of a sum of so many products plus a bias."""
    x, filter = operands
    reach = _reach(x, filter, products)
    unit = x.scale * float(np.median(filter.scale))
    out = _tensor(rng, type, *shape, scale=_spread_over_codes(rng, reach * unit))
    bias = _bias(rng, x, filter, channels, reach)
    return single(kind, [x, filter, bias], out, options, FusedActivationFunction=_activation(rng), **fields)


def average_pool_2d(rng: np.random.Generator, type: str) -> bytes:
    return _pool(rng, type, "AVERAGE_POOL_2D")


def max_pool_2d(rng: np.random.Generator, type: str) -> bytes:
    return _pool(rng, type, "MAX_POOL_2D")


def _pool(rng: np.random.Generator, type: str, kind: str) -> bytes:
    padding = pick(rng, (SAME, VALID))
    down, across = _windows(rng, padding), _windows(rng, padding)
    batches, depth = int(rng.integers(1, 4)), int(rng.integers(1, 40))
    x = _tensor(rng, type, batches, down.dimension, across.dimension, depth)
    out = T(x.type, (batches, down.out, across.out, depth), x.scale, x.zero_point)
    fields = _place(padding, down, across) | {"FilterHeight": down.size, "FilterWidth": across.size}
    return single(kind, [x], out, "Pool2DOptions", FusedActivationFunction=_activation(rng), **fields)


# Elements


def add(rng: np.random.Generator, type: str) -> bytes:
    x, y = _pair(rng, type)
    reach = math.hypot(x.scale * _spread(x), y.scale * _spread(y))
    return _binary(rng, type, "ADD", "AddOptions", x, y, reach)


def mul(rng: np.random.Generator, type: str) -> bytes:
    x, y = _pair(rng, type)
    return _binary(rng, type, "MUL", "MulOptions", x, y, x.scale * _spread(x) * y.scale * _spread(y))


def _pair(rng: np.random.Generator, type: str) -> tuple[T, T]:
    """Two tensors of which one may stretch to the other, and one may be a constant."""
    shape = _shape(rng, int(rng.integers(1, 5)))
    small = shape
    if rng.random() < 0.5:
        small = tuple(pick(rng, (1, dimension)) for dimension in shape[int(rng.integers(len(shape))) :])
    x, y = _tensor(rng, type, *shape), _tensor(rng, type, *small)
    if rng.random() < 0.3:
        y = y.of(random_codes(small, y.type.lower(), rng))
    return (x, y) if rng.random() < 0.5 else (y, x)


def _binary(rng: np.random.Generator, type: str, kind: str, options: str, x: T, y: T, reach: float) -> bytes:
    shape = np.broadcast_shapes(x.shape, y.shape)
    out = _tensor(rng, type, *shape, scale=_spread_over_codes(rng, reach))
    return single(kind, [x, y], out, options, FusedActivationFunction=_activation(rng))


def softmax(rng: np.random.Generator, type: str) -> bytes:
    shape = _shape(rng, int(rng.integers(1, 5)))
    x = _tensor(rng, type, *shape[:-1], int(rng.integers(1, 100)), scale=_gentle(rng))
    return single("SOFTMAX", [x], _unit_interval(x), "SoftmaxOptions", Beta=_scale(rng, 0.1, 4.0))


def logistic(rng: np.random.Generator, type: str) -> bytes:
    x = _tensor(rng, type, *_shape(rng, int(rng.integers(1, 5))), scale=_gentle(rng))
    return single("LOGISTIC", [x], _unit_interval(x))


def tanh(rng: np.random.Generator, type: str) -> bytes:
    x = _tensor(rng, type, *_shape(rng, int(rng.integers(1, 5))), scale=_gentle(rng))
    return single("TANH", [x], T(x.type, x.shape, 1 / 128, 128 if type == UINT8 else 0))


def _unit_interval(x: T) -> T:
    return T(x.type, x.shape, 1 / 256, 0 if x.type == "UINT8" else -128)


def mean(rng: np.random.Generator, type: str) -> bytes:
    """With the quantization of the input, as NNAPI wants it; no axis is listed twice."""
    shape, keep = _shape(rng, int(rng.integers(1, 5))), bool(rng.integers(2))
    axes = rng.permutation(len(shape))[: int(rng.integers(1, len(shape) + 1))]
    rest = [dimension for axis, dimension in enumerate(shape) if axis not in axes]
    kept = [1 if axis in axes else dimension for axis, dimension in enumerate(shape)]
    x = _tensor(rng, type, *shape)
    out = T(x.type, tuple(kept if keep else rest), x.scale, x.zero_point)
    return single("MEAN", [x, const(axes)], out, "ReducerOptions", KeepDims=keep)


DRAWS: Mapping[str, Draw] = {
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "ADD": add,
    "MUL": mul,
    "AVERAGE_POOL_2D": average_pool_2d,
    "MAX_POOL_2D": max_pool_2d,
    "SOFTMAX": softmax,
    "LOGISTIC": logistic,
    "TANH": tanh,
    "MEAN": mean,
}
WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
KINDS = tuple(
    Kind(operation, type)
    for operation in DRAWS
    for type in ((UINT8, INT8, PER_CHANNEL) if operation in WEIGHTED else (UINT8, INT8))
)
"""Every operation in every type it is drawn in."""
