"""The integers with which the reference computes a quantized call: multipliers, shifts, tables, clamps.

Each rule recomputes the call's result from its integers, so that golden files have no integers that do not suffice.
``micro`` counts the elements that TFLite Micro's kernel for int8 computes differently from the same inputs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import OpFailedError, need
from nnapi.model.call import Call
from nnapi.model.facts import Trait
from nnapi.model.operand import Array, OperandType
from nnapi.model.parameter import NCHW_TO_NHWC
from nnapi.operation_codes import Code
from nnapi.ops.concatenation import in_units_of
from nnapi.ops.evaluate import accumulate, channel_axis, find_kernel, specialize, unit_of
from nnapi.ops.fixed_point import Multiplier, multiplier, multiply_fixed_point, scale_integers
from nnapi.ops.pairwise import SPARE_BITS, find_sum_factors
from nnapi.ops.pooling import count_cells, sum_windows
from nnapi.ops.quantized_values import quantized_range, same_quantization
from nnapi.ops.reduce import reduced_axes
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import QUANT8, QUANT8_SIGNED

EIGHT_BITS = QUANT8, QUANT8_SIGNED
EXPONENT_BITS = 30
"""The exponentials of SOFTMAX are multiples of 2**-30."""
UNSIGNED = "TFLite Micro computes this operation on int8 only"
NOT_COMPARED = "not compared"

Integers: TypeAlias = dict[str, Any]
"""Integers by name: numbers, or arrays with one element per channel or value. Two rules also need a float scale."""


@dataclass(frozen=True)
class Arithmetic:
    """How a call is computed. ``micro`` is None if TFLite Micro's result is unknown; ``reason`` says why it differs, or
    why it is unknown."""

    rule: str
    integers: Integers = field(default_factory=dict)
    micro: int | None = None
    reason: str = NOT_COMPARED


Rule: TypeAlias = Callable[[Call, Mapping[int, Array], Array], Arithmetic | None]


def describe_arithmetic(call: Call, arrays: Mapping[int, Array], result: Array) -> Arithmetic:
    """Return the arithmetic of a call with these operands and this first result, as stored."""
    kernel, out = find_kernel(call), call.results[0]
    if not same_quantization(out, call.requantized_results()[0]):
        return Arithmetic("float", reason="the result is converted to another scale")
    rule = RULES.get(call.operation.code)
    if rule and (found := rule(call, arrays, result)):
        return found
    if kernel.kind == "linear" and out.code in EIGHT_BITS:
        return _rescale(call, arrays, result)
    if kernel.kind == "pointwise" and out.code in EIGHT_BITS:
        return _tabulate(call, arrays)
    if kernel.kind == "raw" and call.operation.does(Trait.MOVES):
        return _move()
    return Arithmetic({"raw": "stored", "exact": "exact"}.get(kernel.kind, "float"))


def halve_up(x: Array, multiplied: Multiplier) -> Array:
    """Multiply integers in the specification's fixed point: both roundings are to nearest, halves up."""
    product = multiply_fixed_point(x << np.maximum(multiplied.exponent, 0), multiplied.mantissa, 32)
    shift = np.maximum(-multiplied.exponent, 0)
    shifted: Array = (product + (np.left_shift(1, shift) >> 1)) >> shift
    return shifted


def _as_nhwc(call: Call, array: Array) -> Array:
    return array.transpose(NCHW_TO_NHWC) if "out" in call.images else array


def _clamp(call: Call) -> Integers:
    low, high = quantized_range(call.results[0], call.activation)
    return {"low": low, "high": high}


def _reach(sums: Array, *, by_channel: bool) -> Integers:
    """Return the smallest and largest sum, of each channel or of all, and the bits of a signed integer for them."""
    rows = sums.reshape(-1, sums.shape[-1] if by_channel else 1)
    low, high = rows.min(axis=0), rows.max(axis=0)
    bits = max(int(each if each >= 0 else ~each).bit_length() for each in (low.min(), high.max()))
    return {"accumulator_low": low, "accumulator_high": high, "accumulator_bits": bits + 1}


def _finish(call: Call, rule: str, integers: Integers, result: Array, found: Array, micro: Array | None) -> Arithmetic:
    """Return the arithmetic, after a check that the integers give the result; ``micro`` is TFLite Micro's result."""
    out = call.results[0]
    right = _as_nhwc(call, result)

    def store(values: Array) -> Array:
        stored: Array = np.clip(values + integers.get("out_zero_point", 0), integers["low"], integers["high"])
        return stored

    wrong = int((store(found) != right).sum())
    need(not wrong, f"{call.operation.name}: its integers do not give {wrong} of {right.size} elements", OpFailedError)
    if out.code != QUANT8_SIGNED:
        return Arithmetic(rule, integers, reason=UNSIGNED)
    if micro is None:
        return Arithmetic(rule, integers)
    count = int((store(micro) != right).sum())
    return Arithmetic(rule, integers, count, "TFLite Micro rounds halves below 0 down" if count else "")


def _rescale(call: Call, arrays: Mapping[int, Array], result: Array) -> Arithmetic:
    """Sums of products, multiplied by one fixed-point factor, or one per channel of the filter."""
    kernel, out = find_kernel(call), call.results[0]
    sums = accumulate(call, arrays).astype(np.int64)
    factor = multiplier(np.asarray(unit_of(call, kernel), np.float64) / out.scale)
    by_channel = any(channel_axis(call, name) is not None for name in kernel.scaled)
    count = sums.shape[-1] if by_channel else 1
    integers = {f"{name}_zero_point": call.arguments[name].zero_point for name in kernel.scaled}
    integers |= {"out_zero_point": out.zero_point, **_clamp(call)}
    integers |= {
        "multiplier": np.broadcast_to(factor.mantissa, count),
        "shift": np.broadcast_to(factor.exponent, count),
    }
    integers |= _reach(sums, by_channel=by_channel)
    return _finish(call, "rescale", integers, result, halve_up(sums, factor), scale_integers(sums, factor))


def _sum(call: Call, arrays: Mapping[int, Array], result: Array) -> Arithmetic | None:
    """ADD and SUB: each operand with 20 more bits is multiplied by its factor, and the sum by another."""
    out = call.results[0]
    if out.code not in EIGHT_BITS:
        return None
    types = call.arguments["lhs"], call.arguments["rhs"]
    factors = [multiplier(factor) for factor in find_sum_factors(*types, out)]
    sign = 1 if call.operation.code == OperationCode.ADD else -1
    shifted = [
        (arrays[call.operands[name][0]].astype(np.int64) - type.zero_point) << SPARE_BITS
        for name, type in zip(("lhs", "rhs"), types, strict=True)
    ]
    integers: Integers = {"left_shift": SPARE_BITS, "sign": sign}
    for name, type, factor in zip(("lhs", "rhs"), types, factors, strict=False):
        integers[f"{name}_zero_point"] = type.zero_point
        integers[f"{name}_multiplier"], integers[f"{name}_shift"] = int(factor.mantissa), int(factor.exponent)
    last = factors[-1]
    integers |= {"multiplier": np.array([last.mantissa]), "shift": np.array([last.exponent])}
    integers |= {"out_zero_point": out.zero_point, **_clamp(call)}
    sums, micro = (
        each(shifted[0], factors[0]) + sign * each(shifted[1], factors[1]) for each in (halve_up, scale_integers)
    )
    integers |= _reach(sums, by_channel=False)
    return _finish(call, "sum", integers, result, halve_up(sums, last), scale_integers(micro, last))


def _average(call: Call, arrays: Mapping[int, Array], result: Array) -> Arithmetic | None:
    """AVERAGE_POOL_2D: the sum of a window's stored values divided by their number, halves away from 0."""
    if call.results[0].code not in EIGHT_BITS:
        return None
    image = arrays[call.operands["input"][0]]
    image = image.transpose(NCHW_TO_NHWC) if "input" in call.images else image
    windows = {name: call.arguments[name] for name in ("padding", "stride", "size")}
    sums = sum_windows(image, **windows).astype(np.int64)
    counts = count_cells(image.shape[1:3], **windows)
    means = np.sign(sums) * ((np.abs(sums) + counts // 2) // counts)
    return _finish(call, "average", {**_clamp(call), **_reach(sums, by_channel=False)}, result, means, means)


def _mean(call: Call, arrays: Mapping[int, Array], result: Array) -> Arithmetic | None:
    """MEAN: the sum of stored values divided by their number, rounded down."""
    if call.results[0].code not in EIGHT_BITS:
        return None
    array = arrays[call.operands["input"][0]]
    axes = reduced_axes(array.ndim, call.arguments["axes"])
    sums = array.astype(np.int64).sum(axes).reshape(result.shape)
    count = array.size // max(sums.size, 1)
    integers = {"axes": np.array(axes), "count": count, **_clamp(call), **_reach(sums, by_channel=False)}
    found = _finish(call, "mean", integers, result, sums // count, None)
    return Arithmetic(found.rule, found.integers, reason="TFLite Micro rounds means to the nearest value")


def _softmax(call: Call, arrays: Mapping[int, Array], result: Array) -> Arithmetic | None:
    """SOFTMAX: exponentials from a table of the distance to the largest value; None if this run needs floats."""
    type, out = call.arguments["input"], call.results[0]
    if out.code not in EIGHT_BITS:
        return None
    axis = axis_of(call.arguments["axis"], type.rank)
    factor = float(np.float32(call.arguments["beta"])) * type.scale
    table = np.rint(np.exp(-factor * np.arange(256)) * 2**EXPONENT_BITS).astype(np.int64)
    values = arrays[call.operands["input"][0]].astype(np.int64)
    powers = table[values.max(axis, keepdims=True) - values]
    sums, steps = powers.sum(axis, keepdims=True), round(1 / out.scale)
    integers = {"axis": axis, "table": table, "steps": steps, "out_zero_point": out.zero_point, **_clamp(call)}
    try:
        found = _finish(call, "softmax", integers, result, (2 * steps * powers + sums) // (2 * sums), None)
    except OpFailedError:
        return None  # a quotient is so close to a half that the reference's floats round it the other way
    return Arithmetic(found.rule, found.integers, reason="TFLite Micro computes exponentials with fewer bits")


def _concatenate(call: Call, arrays: Mapping[int, Array], result: Array) -> Arithmetic | None:
    """CONCATENATION: inputs of another scale or zero point go through a table."""
    out = call.results[0]
    tables: Integers = {
        f"table_{position}": in_units_of(out, type, _list_values(type)).astype(np.int64)
        for position, type in enumerate(call.arguments["inputs"])
        if not same_quantization(type, out)
    }
    if not tables:
        return _move()
    tables["lowest"] = np.iinfo(out.dtype).min
    return Arithmetic("concatenate", tables, reason="TFLite Micro needs inputs of one scale")


def _list_values(type: OperandType) -> Array:
    """Return the values of an 8-bit type, from the lowest to the highest."""
    lowest = np.iinfo(type.dtype).min
    return np.arange(lowest, lowest + 256).astype(type.dtype)


def _tabulate(call: Call, arrays: Mapping[int, Array]) -> Arithmetic:
    """A function of one value: its 256 results, from the lowest stored value to the highest."""
    (name,) = (name for name, value in call.arguments.items() if isinstance(value, OperandType) and not value.is_scalar)
    input = call.operands[name][0]
    step = specialize(call, {index: array for index, array in arrays.items() if index != input})
    (table,) = step.run(_list_values(call.arguments[name]))
    lowest = np.iinfo(call.arguments[name].dtype).min
    return Arithmetic("table", {"lowest": lowest, "table": table.astype(np.int64)})


def _move(**integers: int) -> Arithmetic:
    return Arithmetic("move", integers, 0, "")


def _pad(call: Call, arrays: Mapping[int, Array], result: Array) -> Arithmetic:
    """PAD: the fill value is the zero point."""
    return _move(fill=call.results[0].zero_point)


def _quantize(call: Call, arrays: Mapping[int, Array], result: Array) -> Arithmetic:
    """QUANTIZE: a float32 division by the scale, rounded to the nearest integer, halves away from 0."""
    out = call.results[0]
    integers = {"scale": out.scale, "out_zero_point": out.zero_point, **_clamp(call)}
    return Arithmetic("quantize", integers, 0, "") if out.code == QUANT8_SIGNED else Arithmetic("quantize", integers)


def _dequantize(call: Call, arrays: Mapping[int, Array], result: Array) -> Arithmetic:
    type = call.arguments["input"]
    if type.channel:
        return Arithmetic("float")
    return Arithmetic("dequantize", {"scale": type.scale, "input_zero_point": type.zero_point}, 0, "")


def _max_pool(call: Call, arrays: Mapping[int, Array], result: Array) -> Arithmetic | None:
    if call.results[0].code not in EIGHT_BITS:
        return None
    return Arithmetic("maximum", _clamp(call), 0, "")


RULES: dict[Code, Rule] = {
    OperationCode.ADD: _sum,
    OperationCode.SUB: _sum,
    OperationCode.AVERAGE_POOL_2D: _average,
    OperationCode.CONCATENATION: _concatenate,
    OperationCode.DEQUANTIZE: _dequantize,
    OperationCode.MAX_POOL_2D: _max_pool,
    OperationCode.MEAN: _mean,
    OperationCode.PAD: _pad,
    OperationCode.QUANTIZE: _quantize,
    OperationCode.SOFTMAX: _softmax,
}
