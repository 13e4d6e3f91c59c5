"""Filters and biases of sums of products, as the engine needs them."""

import math
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.drivers.litert.context import LitertContext
from nnapi.drivers.litert.outliers import find_outliers, found
from nnapi.drivers.litert.unsafe_graphs import LARGEST_SCALE, SMALLEST_SCALE
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.operators import row_of
from nnapi.lowering.refusal import Unsupported, require
from nnapi.lowering.tflite.context import SHIFT, flip_values
from nnapi.model.operand import Array, OperandType

SMALLEST_FACTOR, LARGEST_FACTOR = 2.0**-60, 255.0
"""Range of the factor that requantizes a sum of products."""
NO_CHANNELS: Array = np.empty(0, np.intp)
WIDEST = 255
"""Maximum difference of an 8-bit value from its zero point."""
FAINTEST = 0.499
"""Maximum contribution in LSB that is certain to change no result."""
MOST_PRODUCTS = 2.0**20
"""Maximum sum in LSB for which float32's rounding errors stay far below 1 LSB."""


def make_constant_filter(context: LitertContext, name: str, channel: int) -> tuple[Tensor, Tensor]:
    """Return the constant filter ``name``, with output channels along axis ``channel``, and the bias.

    If its values permit it, a quantized filter becomes signed and symmetric, with a scale per channel; else it stays
    unsigned, for the passes. Channels with unsupported scales become zeros if that changes no result.
    """
    type = context.type(name)
    if not type.is_quantized:
        return context.stored_tensor(name), _offsets(context, type.scale, NO_CHANNELS)
    values = context.value(name)
    if type.channel:
        filter, faint = _drop_faint(context, type, values, name)
        return filter, _offsets(context, filter.scale, faint)
    outliers = find_outliers(values, type.zero_point)
    if len(outliers):
        filter = _as_unsigned(type, values, channel, name)
        found[filter] = outliers
        return filter, _offsets(context, type.scale, NO_CHANNELS)
    scales = np.full(type.dimensions[channel], type.scale, np.float32)
    differences = np.subtract(values.view(np.uint8), np.uint8(type.zero_point & 255)).view(np.int8)
    filter = Tensor("i8", type.dimensions, scales, axis=channel, data=differences, name=name)
    return filter, _offsets(context, type.scale, NO_CHANNELS, is_repeated=True)


def quantize_filter(context: LitertContext, name: str, channel: int) -> Tensor | None:
    """Return the quantized values behind a float filter; None if the engine cannot use them with a float input."""
    quantized = context.find_quantized(name)
    if quantized is None or quantized.data is None or quantized.zero_point:
        return None
    if isinstance(quantized.scale, float):
        quantized = context.find(_repeat_scale, quantized) if channel == 0 else None
    elif quantized.axis != channel:
        return None
    if quantized is None:
        return None
    scales = np.asarray(quantized.scale)
    return quantized if scales.min() >= SMALLEST_SCALE and scales.max() <= LARGEST_SCALE else None


def _repeat_scale(filter: Tensor) -> Tensor:
    """Repeat a filter's scale for each output channel, which the engine's kernels require."""
    return filter.like(scale=np.full(filter.shape[0], filter.unit, np.float32), data=filter.data)


def _drop_faint(context: LitertContext, type: OperandType, values: Array, name: str) -> tuple[Tensor, Array]:
    """Return the filter with zeros for channels of unsupported scale that change no result, and these channels."""
    assert type.channel
    axis, scales = type.channel.dimension, np.array(type.channel.scales, np.float32)
    per_step = context.type("input").scale / context.call.results[0].scale
    faint, smallest = NO_CHANNELS, float(scales.min())
    if smallest < SMALLEST_SCALE or smallest * per_step < SMALLEST_FACTOR:
        faint = np.flatnonzero((scales < SMALLEST_SCALE) | (scales * np.float64(per_step) < SMALLEST_FACTOR))
    if len(faint) and SMALLEST_SCALE <= 1 / per_step <= LARGEST_SCALE:
        weights = np.abs(np.moveaxis(values, axis, 0)[faint].reshape(len(faint), -1).astype(np.int64)).sum(1)
        sums = WIDEST * weights + np.abs(context.value("bias")[faint].astype(np.int64))
        faint = faint[sums * scales[faint].astype(np.float64) * per_step < FAINTEST]
        values = _zero(values, faint, axis)
        scales[faint] = 1 / per_step
    else:
        faint = NO_CHANNELS
    return Tensor("i8", type.dimensions, scales, axis=axis, data=values, name=name), faint


def _zero(values: Array, slices: Array, axis: int) -> Array:
    result = values.copy()
    np.moveaxis(result, axis, 0)[slices] = 0
    return result


def _as_unsigned(type: OperandType, values: Array, channel: int, name: str) -> Tensor:
    zero_point = type.zero_point
    if type.code == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED:
        values, zero_point = flip_values(values), zero_point + SHIFT
    return Tensor("u8", type.dimensions, type.scale, zero_point, channel, values, name)


def _offsets(context: LitertContext, scales: float | Array, faint: Array, is_repeated: bool = False) -> Tensor:
    """Return the bias in units of the products, 0 for ``faint`` channels; ``is_repeated`` repeats the unit."""
    input, out = context.type("input"), context.call.results[0]
    if not input.is_quantized:
        return context.stored_tensor("bias")
    bias = context.value("bias")
    if len(faint):
        bias = _zero(bias, faint, 0)
    low, high = (scales, scales) if isinstance(scales, float) else (float(scales.min()), float(scales.max()))
    low, high = low * input.scale / out.scale, high * input.scale / out.scale
    if not (low >= SMALLEST_FACTOR and high <= LARGEST_FACTOR):
        raise Unsupported(
            f"sums of products would be multiplied by {low:g} to {high:g}, "
            f"the engine takes {SMALLEST_FACTOR:g} to {LARGEST_FACTOR:g}"
        )
    units: float | Array
    if isinstance(scales, float):
        unit = scales * input.scale
        units = np.full(bias.shape, unit, np.float32) if is_repeated else unit
    else:
        units = np.multiply(scales, input.scale, dtype=np.float64).astype(np.float32)
    return Tensor("i32", bias.shape, units, data=bias, name="bias")


def read_computed_filter(context: LitertContext, name: str, channel: int) -> tuple[Tensor, Tensor]:
    """Return a computed filter and its bias as float32; axis ``channel`` of the filter are the outputs."""
    require(
        not context.is_dynamic(name), f"{name} is computed, and may come too large for its sums to be exact in float"
    )
    type, input, out = context.type(name), context.type("input"), context.call.results[0]
    scales = np.array(type.channel.scales if type.channel else [type.scale], np.float32)
    count = math.prod(type.dimensions) // type.dimensions[channel]
    largest = count * WIDEST**2 * float(scales.max()) * input.scale / out.scale
    require(
        largest <= MOST_PRODUCTS,
        f"{name} is computed, and sums may reach {largest:.0f} LSB, which float32 does not represent exactly",
    )
    units = (scales * np.float64(input.scale)).astype(np.float32)
    weights = context.stored_tensor(name)
    filter = (
        multiply_in_float(context, weights, shape_along_axis(scales, channel))
        if type.channel
        else context.real(weights)
    )
    return filter, multiply_in_float(context, context.stored_tensor("bias"), units)


class FilterContext(LitertContext):
    """The context of all rules, which adds sums of products."""

    def sum_products(self, kind: str, x: Tensor, name: str, channel: int, out: Tensor, **options: Any) -> Tensor:
        """Emit a sum of products with a constant filter. Quantized computed filters are converted to float32."""
        options["activation"] = self.activation
        quantized = quantize_filter(self, name, channel) if row_of(kind).weights and x.type == "f32" else None
        if quantized is not None and quantized.shape[-1] == x.shape[-1]:  # the convolution has one group
            return self.emit(kind, [x, quantized, self.stored_tensor("bias")], out, **options)
        in_float = self.type(name).is_quantized and self.is_computed(name)
        if in_float:
            x, w, b = self.real(x), *read_computed_filter(self, name, channel)
        else:
            w, b = make_constant_filter(self, name, channel)
        inputs = [constant(out.shape), w, x, b] if kind == "TRANSPOSE_CONV" else [x, w, b]
        if not in_float:
            return self.emit(kind, inputs, out, **options)
        real = self.emit(kind, inputs, out.like(type="f32", scale=0.0, zero_point=0), **options)
        return self.emit("QUANTIZE", [real], out)


def shape_along_axis(scales: Array, axis: int, rank: int = 4) -> Array:
    """Reshape one scale per slice along an axis, for broadcasting in :func:`multiply_in_float`."""
    return scales.reshape([-1 if index == axis else 1 for index in range(rank)])


def multiply_in_float(context: LitertContext, tensor: Tensor, factors: Array) -> Tensor:
    """Cast integers to float32 and multiply them by ``factors``."""
    plain = tensor.like(type="f32", scale=0.0, zero_point=0)
    if tensor.data is not None:
        plain.data = (tensor.data * factors).astype(np.float32)
        return plain
    context.cast(tensor, plain)
    return context.emit("MUL", [plain, Tensor("f32", factors.shape, data=factors)], plain.like(), activation=0)
