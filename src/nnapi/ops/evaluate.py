"""Compute a normalized call with its kernel."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nnapi.codes import FuseCode, OperandCode
from nnapi.model.call import UNKNOWN, Call
from nnapi.model.operand import Array, OperandType
from nnapi.model.operation import Kernel
from nnapi.ops.quantized_values import (
    BOUNDS,
    EXACT_FLOAT32,
    Convert,
    dequantize,
    offset,
    quantized_range,
    requantizer,
    rescaler,
    same_quantization,
)

ROUNDED_UP = 1.001
"""Bounds the rounding loss of a float32 sum of magnitudes."""
NHWC_TO_NCHW, NCHW_TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)
FLOAT16S = (OperandCode.TENSOR_FLOAT16, OperandCode.FLOAT16)
BOOLS = (OperandCode.TENSOR_BOOL8, OperandCode.BOOL)


@dataclass(frozen=True)
class Step:
    """A call prepared once: ``run`` computes the arrays of ``outputs`` from those of ``inputs`` (operand indices)."""

    call: Call
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    run: Callable[..., Sequence[Array]]


def specialize(call: Call, constants: Mapping[int, Array]) -> Step:
    """Return the Step that computes a call on stored arrays; constants, conversions and clamps are prepared once."""
    if call.results and all(0 in type.dimensions and UNKNOWN not in type.dimensions for type in call.results):
        return Step(call, (), call.outputs, partial(_make_empty, call.requantized_results()))
    kernel = find_kernel(call)
    return _specialize(call, kernel, constants, _storers(call, kernel))


def find_kernel(call: Call) -> Kernel:
    return call.operation.kernel_for(_first_code(call))


def _specialize(call: Call, kernel: Kernel, constants: Mapping[int, Array], store: Sequence[Convert | None]) -> Step:
    load = _loaders(call, kernel, constants)
    fixed = {name: value for name, value in call.arguments.items() if not _is_tensor(value, 0)}
    fixed |= {name: [None] * len(value) for name, value in call.arguments.items() if isinstance(value, list) and value}
    inputs: list[int] = []
    slots: list[tuple[str, int, Convert | None]] = []
    for name, operands in call.operands.items():
        for i, operand in enumerate(operands):
            if not _is_tensor(call.arguments.get(name), i):
                continue
            if operand in constants:
                _put_argument(fixed, name, i, _constant(constants[operand], load(name, i)))
            else:
                inputs.append(operand)
                slots.append((name, i, load(name, i)))
    function = partial(kernel.function, call) if kernel.kind == "exact" else kernel.function
    run = _runner(function, fixed, slots, store)
    if kernel.kind == "pointwise" and inputs and _is_eight_bit(call.arguments[slots[0][0]]):
        run = _tabulate(run, call.arguments[slots[0][0]].dtype)
    return Step(call, tuple(inputs), call.outputs, run)


def _make_empty(types: Sequence[OperandType]) -> Sequence[Array]:
    """Return results without elements, which no kernel needs to compute."""
    return [np.zeros(type.dimensions, type.dtype) for type in types]


def _constant(array: Array, convert: Convert | None) -> Array:
    if convert is None:
        return array
    converted = convert(array)
    converted.flags.writeable = False
    return converted


def _is_eight_bit(type: OperandType) -> bool:
    return type.is_quantized and type.dtype.itemsize == 1


def _tabulate(run: Callable[..., Sequence[Array]], dtype: np.dtype[Any]) -> Callable[..., Sequence[Array]]:
    with np.errstate(all="ignore"):
        (table,) = run(np.arange(256, dtype=np.uint8).view(dtype))
    return lambda values: (table.take(values),)  # the results of negative values lie at the end


def _runner(
    function: Callable[..., Any],
    fixed: dict[str, Any],
    slots: list[tuple[str, int, Convert | None]],
    store: Sequence[Convert | None],
) -> Callable[..., Sequence[Array]]:
    """Return the function of the hot path; only calls with lists of tensors copy lists of arguments."""
    lists = {name: value for name, value in fixed.items() if isinstance(value, list)}
    if not lists:
        bound = partial(function, **fixed)
        names = [(name, convert) for name, _, convert in slots]

        def run(*arrays: Array) -> Sequence[Array]:
            result = bound(
                **{
                    name: convert(array) if convert else array
                    for (name, convert), array in zip(names, arrays, strict=True)
                }
            )
            return _store(result, store)

        return run

    def run_with_lists(*arrays: Array) -> Sequence[Array]:
        arguments = fixed | {name: list(value) for name, value in lists.items()}
        for (name, i, convert), array in zip(slots, arrays, strict=True):
            _put_argument(arguments, name, i, convert(array) if convert else array)
        return _store(function(**arguments), store)

    return run_with_lists


def _store(result: Any, store: Sequence[Convert | None]) -> Sequence[Array]:
    results = result if isinstance(result, tuple | list) else (result,)
    return [convert(array) if convert else array for convert, array in zip(store, results, strict=False)]


def _put_argument(arguments: dict[str, Any], name: str, i: int, array: Array) -> None:
    if isinstance(arguments.get(name), list):
        arguments[name][i] = array
    else:
        arguments[name] = array


def _is_tensor(argument: Any, i: int) -> bool:
    if isinstance(argument, list):
        return bool(argument) and isinstance(argument[i], OperandType)
    return isinstance(argument, OperandType)


def _first_code(call: Call) -> int:
    arguments = itertools.chain.from_iterable(a if isinstance(a, list) else [a] for a in call.arguments.values())
    return next((a.code for a in arguments if isinstance(a, OperandType)), call.results[0].code)


# Inputs: from stored arrays to the kernel's representation


def _loaders(call: Call, kernel: Kernel, constants: Mapping[int, Array]) -> Callable[[str, int], Convert | None]:
    images = call.images
    dtype = _sum_dtype(call, kernel, constants) if kernel.kind == "linear" else np.float32

    def load(name: str, i: int) -> Convert | None:
        argument = call.arguments[name]
        type = argument[i] if isinstance(argument, list) else argument
        convert = _loader(type, kernel, name, dtype)
        if name not in images:
            return convert
        return (lambda x: convert(x.transpose(NCHW_TO_NHWC))) if convert else (lambda x: x.transpose(NCHW_TO_NHWC))

    return load


def _loader(type: OperandType, kernel: Kernel, name: str, dtype: Any) -> Convert | None:
    if kernel.kind in ("raw", "exact"):
        return None
    if type.code in FLOAT16S:
        return lambda x: x.astype(np.float32)
    if type.code in BOOLS:
        return lambda x: x != 0
    if not type.is_quantized:
        return None if kernel.kind in ("real", "pointwise") or type.dtype.kind == "f" else (lambda x: x.astype(dtype))
    if kernel.kind == "linear" and name in kernel.scaled:
        return lambda x: offset(type, x, dtype)
    return lambda x: dequantize(type, x)


def _sum_dtype(call: Call, kernel: Kernel, constants: Mapping[int, Array]) -> Any:
    """Return float32 if every sum of products is an exact float32 integer, else float64.

    The bound is the largest |input| times the largest sum of |filter| for an output channel, plus the largest |bias|.
    """
    types = {name: call.arguments[name] for name in kernel.scaled if isinstance(call.arguments[name], OperandType)}
    if not all(type.is_quantized for type in types.values()) or len(types) < 2:
        return np.float32
    bound = 1.0
    for name, type in types.items():
        operand = call.operands[name][0]
        axis = channel_axis(call, name)
        if axis is None:
            bound *= _reach(type)
        elif operand in constants:
            values = offset(type, constants[operand])
            other = tuple(i for i in range(values.ndim) if i != axis)
            bound *= float(np.abs(values, out=values).sum(other).max(initial=0)) * ROUNDED_UP
        else:
            bound *= _reach(type) * type.size / max(type.dimensions[axis], 1)
    if all(channel_axis(call, name) is None for name in types):
        bound *= max(max(type.dimensions, default=1) for type in types.values())
    bias = call.operands.get("bias", ())
    if bias and bias[0] in constants:
        bound += float(np.abs(constants[bias[0]].astype(np.float64)).max(initial=0))
    elif bias:
        bound = np.inf
    return np.float32 if bound < EXACT_FLOAT32 else np.float64


def _reach(type: OperandType) -> float:
    limits = np.iinfo(type.dtype)
    return float(max(limits.max - type.zero_point, type.zero_point - limits.min))


def channel_axis(call: Call, name: str) -> int | None:
    """Return the axis of an argument's scales per channel; None if it cannot have such."""
    slots = [slot for overload in call.operation.overloads for slot in overload.inputs if slot.name == name]
    return getattr(slots[0], "channel", None) if slots else None


# Outputs: from the kernel's results to stored arrays


def _storers(call: Call, kernel: Kernel) -> list[Convert | None]:
    images = call.images
    slots = call.operation.outputs
    pairs = enumerate(zip(call.results, call.requantized_results(), strict=True))
    store = [_keeper(call, kernel, position, made, kept) for position, (made, kept) in pairs]
    return [
        _transpose(convert) if position < len(slots) and slots[position].name in images else convert
        for position, convert in enumerate(store)
    ]


def _keeper(call: Call, kernel: Kernel, position: int, made: OperandType, kept: OperandType) -> Convert | None:
    """Return the conversion of a kernel's result to the operand's type; the activation clamps in this type."""
    activation = call.activation if position == 0 else FuseCode.FUSED_NONE
    if same_quantization(made, kept):
        return _storer(call, kernel, activation, made)
    convert = _storer(call, kernel, FuseCode.FUSED_NONE, made)
    encode = requantizer(kept, activation, 1.0)
    return lambda y: encode(dequantize(made, convert(y) if convert else y))


def _transpose(convert: Convert | None) -> Convert:
    return (lambda y: convert(y).transpose(NHWC_TO_NCHW)) if convert else (lambda y: y.transpose(NHWC_TO_NCHW))


def _storer(call: Call, kernel: Kernel, activation: FuseCode, type: OperandType) -> Convert | None:
    if kernel.kind in ("raw", "exact"):
        if not activation:
            return None
        low, high = quantized_range(type, activation) if type.is_quantized else BOUNDS[activation]
        return lambda y: np.clip(y, y.dtype.type(low), y.dtype.type(high))
    if type.is_quantized:
        convert = rescaler if len(kernel.scaled) > 1 else requantizer
        return convert(type, activation, unit_of(call, kernel))
    if type.code in BOOLS:
        return lambda y: np.asarray(y, np.bool_).view(np.uint8)
    dtype = type.dtype
    if activation:
        low, high = BOUNDS[activation]
        return lambda y: np.clip(y, y.dtype.type(low), y.dtype.type(high), out=y).astype(dtype, copy=False)
    return lambda y: np.asarray(y, dtype)


def unit_of(call: Call, kernel: Kernel) -> Array | float:
    """Return the scale of a linear kernel's result: the product of the operands' scales, per channel if one has such.

    A single product is rounded to float32, as in the specification's runtime; products per channel are not rounded.
    """
    types = [call.arguments[name] for name in kernel.scaled]
    if any(type.channel for type in types):
        scales = [np.array(type.channel.scales if type.channel else type.scale, np.float64) for type in types]
        return np.prod(np.broadcast_arrays(*scales), axis=0)
    return float(np.prod([np.float32(type.scale) for type in types], dtype=np.float32))


def evaluate(call: Call, arrays: Mapping[int, Array]) -> Sequence[Array]:
    with np.errstate(all="ignore"):
        return specialize(call, arrays).run()


def accumulate(call: Call, arrays: Mapping[int, Array]) -> Array:
    """Return the sums of a linear call before they are rescaled: exact integers as floats, of an image as NHWC."""
    (sums,) = _specialize(call, find_kernel(call), arrays, [None]).run()
    return sums
