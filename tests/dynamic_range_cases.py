"""Files whose float operations have weights of 8 or 4 bits, and inputs for them."""

from functools import partial
from typing import Any

import numpy as np

import nnapi
from tests.tflite_writer import T, const, f32, single

Array = np.ndarray[Any, Any]
IMAGE, FILTER = (2, 9, 8, 12), (10, 3, 3, 12)
STRIDES = {"StrideW": 2, "StrideH": 1}


def pack(codes: Array) -> Array:
    """Codes of 4 bits, two in a byte."""
    nibbles = codes.reshape(-1).astype(np.uint8) & 15
    return nibbles[::2] | nibbles[1::2] << 4


def make_weights(shape: tuple[int, ...], bits: int, axis: int | None, sign: bool) -> T:
    """Random weights with a scale for each slice along the axis, or one scale; without ``sign`` how large each is."""
    rng, top = np.random.default_rng(3), 2 ** (bits - 1) - 1
    codes = rng.integers(-top, top + 1, shape).astype(np.int8)
    codes = codes if sign else np.abs(codes)
    scale: Any = 0.6 / top if axis is None else rng.uniform(0.2, 1, shape[axis]) / top
    type, data = ("INT8", codes) if bits == 8 else ("INT4", pack(codes))
    return T(type, shape, scale, 0 if axis is None else np.zeros(shape[axis], int), data, axis or 0)


def make_bias(units: int, sign: bool) -> T:
    return const(np.linspace(-1, 1, units) * sign, "FLOAT32")


def dense(bits: int, axis: int | None, sign: bool = True) -> bytes:
    inputs = [f32(5, 64), make_weights((33, 64), bits, axis, sign), make_bias(33, sign)]
    return single("FULLY_CONNECTED", inputs, f32(5, 33), "FullyConnectedOptions")


def convolution(bits: int, axis: int | None, sign: bool = True) -> bytes:
    inputs = [f32(*IMAGE), make_weights(FILTER, bits, axis, sign), make_bias(FILTER[0], sign)]
    return single("CONV_2D", inputs, f32(2, 9, 4, FILTER[0]), "Conv2DOptions", **STRIDES)


def depthwise(bits: int, axis: int | None, sign: bool = True) -> bytes:
    inputs = [f32(*IMAGE), make_weights((1, 3, 3, 12), bits, axis, sign), make_bias(12, sign)]
    return single("DEPTHWISE_CONV_2D", inputs, f32(2, 9, 4, 12), "DepthwiseConv2DOptions", DepthMultiplier=1, **STRIDES)


CASES = {
    "dense": partial(dense, 8, 0),
    "dense, one scale": partial(dense, 8, None),
    "dense, 4 bits": partial(dense, 4, 0),
    "convolution": partial(convolution, 8, 0),
    "convolution, one scale": partial(convolution, 8, None),
    "convolution, 4 bits": partial(convolution, 4, 0),
    "depthwise": partial(depthwise, 8, 3),
}


def make_input(model: nnapi.Model) -> Array:
    """Rows or images of different ranges."""
    rng, shape = np.random.default_rng(1), model.operands[model.inputs[0]].type.dimensions
    x = rng.uniform(-1, 2, shape) * rng.uniform(0.1, 10, (shape[0], *[1] * (len(shape) - 1)))
    return np.asarray(x, np.float32)


def recurrent(is_coupled: bool = False) -> bytes:
    """An LSTM along time, whose input and forget gate are one or two."""
    units, inputs, steps = 24, 16, 5
    rng = np.random.default_rng(5)

    def matrix(columns: int) -> T:
        return T("INT8", (units, columns), 0.3 / 127, 0, rng.integers(-127, 128, (units, columns)))

    gates = [not is_coupled, True, True, True]
    weights = [matrix(columns) if gate else None for columns in (inputs, units) for gate in gates]
    biases = [const(rng.uniform(-1, 1, units), "FLOAT32") if gate else None for gate in gates]
    states = [T("FLOAT32", (1, units), variable=True) for _ in range(2)]
    given = [f32(1, steps, inputs), *weights, *[None] * 3, *biases, None, None, *states, *[None] * 4]
    options = "UnidirectionalSequenceLSTMOptions"
    kind, out = "UNIDIRECTIONAL_SEQUENCE_LSTM", f32(1, steps, units)
    return single(kind, given, out, options, FusedActivationFunction=4)
