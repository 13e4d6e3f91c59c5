"""QUANTIZE, DEQUANTIZE, CAST, FAKE_QUANT, DENSIFY."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import FLOATS, INT32, QUANT8
from nnapi.importers.refusals import expressible
from nnapi.importers.tflite.node import TfliteNode
from nnapi.importers.tflite.rules import rule
from nnapi.importers.tflite.rules.signal import take_part
from nnapi.importers.tflite.tensors import COMPLEX
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode

CAST_ALIKE = (INT32, *FLOATS)
"""Types to which NNAPI's CAST converts numbers and unsigned bytes as TensorFlow Lite's does."""


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
    """Lower CAST of stored values: integers lose their higher bits, floats are clamped, complex numbers are real."""
    x, target = node.input(0), node.output.type.code
    if node.tensor(0).type == COMPLEX:
        x = take_part(node, x, 0)
    if x.type.code == target:
        node.bind(0, x)
    elif x.type.code in (*CAST_ALIKE, QUANT8) and target in CAST_ALIKE:
        node.emit(OperationCode.CAST, x)
    else:
        node.emit(CompositeCode.CONVERT, x)


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
