"""QUANTIZE, DEQUANTIZE, CAST, FAKE_QUANT, DENSIFY."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.formulas import as_bytes
from nnapi.importers.graph import BOOL8, FLOAT32, INT32, QUANT8, Value
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.model.operand import OperandType

QUANT8_SIGNED = OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
BYTES = (QUANT8, QUANT8_SIGNED)
INTEGERS = (INT32, *BYTES)


@rule("QUANTIZE")
def quantize(node: TfliteNode) -> None:
    x = node.input(0)
    expressible(
        x.is_float or x.is_quantized, f"its input is {x.type.name}, NNAPI quantizes floats and quantized values"
    )
    if node.output.is_float:  # int16_as_float has made the output float32
        node.deliver(node.graph.real(x))
    else:
        node.graph.quantize(node.graph.real(x), node.output)


@rule("DEQUANTIZE")
def dequantize(node: TfliteNode) -> None:
    """Lower DEQUANTIZE; constants become float32 during the import."""
    x = node.input(0)
    if x.type.code == node.output.type.code:
        node.deliver(x)
    elif x.is_float:
        if not node.graph.widen(x, node.output):
            node.emit(OperationCode.CAST, x)
    elif x.array is not None:
        node.bind(0, node.graph.real(x))
    else:
        node.emit(OperationCode.DEQUANTIZE, x)


@rule("CAST", "STABLEHLO_CONVERT")
def cast(node: TfliteNode) -> None:
    """Lower CAST of stored values; NNAPI's CAST supports neither booleans nor signed bytes.

    Integers lose their higher bits, as in TensorFlow Lite; NNAPI's CAST clamps them. Both clamp floats.
    """
    x, out = node.input(0), node.output
    source, target = x.type.code, out.type.code
    if source == target:
        node.bind(0, x)
    elif source == BOOL8:
        one, zero = (node.graph.full(_name_type(target, x), number) for number in (1, 0))
        node.emit(OperationCode.SELECT, x, one, zero)
    elif target == BOOL8:
        node.emit(
            OperationCode.NOT_EQUAL,
            x,
            node.graph.full(OperandType(source, (1,), x.type.scale, x.type.zero_point), x.type.zero_point),
        )
    elif source in INTEGERS and target in BYTES:
        whole = x if source == INT32 else node.apply(OperationCode.CAST, _as_numbers(node, x), type=OperandType(INT32))
        _deliver_bytes(node, as_bytes(node, whole, out.type))
    elif target == QUANT8_SIGNED:
        whole = node.apply(OperationCode.CAST, x, type=OperandType(INT32))
        bytes = node.temporary(OperandType(QUANT8_SIGNED, x.shape, 1.0, 0))
        node.graph.quantize(node.apply(OperationCode.CAST, whole, type=OperandType(FLOAT32)), bytes)
        _deliver_bytes(node, bytes)
    else:
        numbers = _as_numbers(node, x) if x.type.channel or source == QUANT8_SIGNED else x
        if numbers.type.code == target:
            node.bind(0, numbers)
        else:
            node.emit(OperationCode.CAST, numbers)


def _deliver_bytes(node: TfliteNode, bytes: Value) -> None:
    """Make plain bytes the stored values of the output, which may have a scale."""
    if (node.output.type.scale, node.output.type.zero_point) == (1.0, 0):
        node.deliver(bytes)
    else:
        node.emit(OperationCode.CAST, bytes)


def _as_numbers(node: TfliteNode, x: Value) -> Value:
    """Return the stored values of a signed quantized tensor as float32; those of an unsigned one unchanged."""
    if x.type.code == QUANT8:
        return x
    real, type = node.graph.real(x), x.type
    if type.channel is not None:
        shape = [-1 if axis == type.channel.dimension else 1 for axis in range(type.rank)]
        units = node.graph.constant(np.array(type.channel.scales, np.float32).reshape(shape))
        return node.apply(OperationCode.DIV, real, units, node.i32(0))
    if (type.scale, type.zero_point) == (1.0, 0):
        return real
    steps = node.apply(OperationCode.DIV, real, node.like(real, type.scale), node.i32(0))
    return node.apply(OperationCode.ADD, steps, node.like(real, type.zero_point), node.i32(0))


def _name_type(code: int, like: Value) -> OperandType:
    return OperandType(code, like.shape, *((1.0, 0) if code in (QUANT8, QUANT8_SIGNED) else ()))


@rule("DENSIFY")
def densify(node: TfliteNode) -> None:
    node.bind(0, node.input(0))


@rule("FAKE_QUANT")
def fake_quant(node: TfliteNode) -> None:
    o, x = node.options, node.input(0)
    expressible(o.num_bits == 8 and not o.narrow_range, "NNAPI quantizes to the full 8 bits only")
    low, high = min(float(o.min), 0.0), max(float(o.max), 0.0)
    expressible(np.isfinite(high - low) and high > low, f"its range {low:g} to {high:g} is empty")
    scale = (high - low) / 255
    quantized = node.temporary(OperandType(QUANT8, x.shape, scale, round(-low / scale)), "quantized")
    node.graph.quantize(x, quantized)
    node.emit(OperationCode.DEQUANTIZE, quantized)
