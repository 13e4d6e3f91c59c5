"""Compute quantized operations on float values."""

from collections.abc import Mapping
from dataclasses import replace

from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CODES
from nnapi.ops.quantized_values import dequantize
from nnapi.testing.example import Example, ExampleGraph, OperandSpec
from nnapi.testing.random.subgraphs import CONSTANTS, OperationExample


def on_float_values(part: OperationExample, values: Mapping[int, Array | None]) -> Example | None:
    """Return an operation with its quantized operands dequantized; None if none is quantized."""
    example, main = part.example, part.example.main
    operation = REGISTRY[CODES[main.operations[0].type]]
    if not any(o.scale or o.channel_quant for o in main.operands) or operation.name in (
        "CAST",
        "CONVERT",
        "QUANTIZED_16BIT_LSTM",
    ):
        return None
    inputs = dict(zip(main.inputs, (values[index] for index in part.inputs), strict=True))
    operands = []
    for position, operand in enumerate(_with_scaled_bias(main)):
        if not (operand.scale or operand.channel_quant):
            operands.append(operand)
            continue
        data = inputs.get(position) if position in inputs else operand.data
        numbers = None if data is None else dequantize(operand.full_type, data)
        data = numbers if operand.lifetime in CONSTANTS else None
        plain = OperandSpec("TENSOR_FLOAT32", operand.dimensions, lifetime=operand.lifetime, data=data)
        operands.append(replace(plain, is_ignored=operand.is_ignored, name=operand.name))
        if position in inputs:
            inputs[position] = numbers
    return replace(example, main=replace(main, operands=tuple(operands)), inputs=inputs)


def _with_scaled_bias(main: ExampleGraph) -> list[OperandSpec]:
    """Return the operands; a bias of a filter with per-channel scales gets scales of input times filter."""
    operands, inputs = list(main.operands), main.operations[0].inputs
    quant = operands[inputs[1]].channel_quant if len(inputs) > 2 else None
    if quant and not operands[inputs[2]].channel_quant:
        scales = tuple(float(scale) * operands[inputs[0]].scale for scale in quant.scales)
        operands[inputs[2]] = replace(operands[inputs[2]], channel_quant=replace(quant, channel_dim=0, scales=scales))
    return operands
