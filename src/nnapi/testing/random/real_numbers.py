"""Quantized operations, computed on the float values instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.operand import Array
from nnapi.model.operation import REGISTRY
from nnapi.testing.example import Example, Graph, OperandSpec
from nnapi.testing.random.parts import CONSTANTS, Part


def on_real_numbers(part: Part, values: Mapping[int, Array | None]) -> Example | None:
    """Return an operation on dequantized values; None if nothing in it is quantized."""
    example, main = part.example, part.example.main
    operation = REGISTRY[OperationCode[main.operations[0].type]]
    if not any(o.scale or o.channel_quant for o in main.operands) or operation.name in ("CAST", "QUANTIZED_16BIT_LSTM"):
        return None
    inputs = dict(zip(main.inputs, (values[index] for index in part.inputs), strict=True))
    bias = _bias_of_channels(main)
    if bias is not None and not main.operands[bias].channel_quant:
        return _with_scaled_bias(part, values, bias)
    operands = []
    for place, operand in enumerate(main.operands):
        if not (operand.scale or operand.channel_quant):
            operands.append(operand)
            continue
        data = inputs.get(place) if place in inputs else operand.data
        numbers = None if data is None else as_real(operand, data)
        operands.append(
            replace(
                operand,
                type="TENSOR_FLOAT32",
                scale=0.0,
                zero_point=0,
                channel_quant=None,
                data=numbers if operand.lifetime in CONSTANTS else None,
            )
        )
        if place in inputs:
            inputs[place] = numbers
    return replace(example, main=replace(main, operands=tuple(operands)), inputs=inputs)


def _bias_of_channels(main: Graph) -> int | None:
    """The bias beside a filter with scales per channel, where there is one: what scale it has itself means nothing."""
    inputs = main.operations[0].inputs
    if len(inputs) < 3 or not main.operands[inputs[1]].channel_quant:
        return None
    return inputs[2]


def _with_scaled_bias(part: Part, values: Mapping[int, Array | None], place: int) -> Example | None:
    """As on_real_numbers, for a filter with scales per channel, whose bias says nothing of its own."""
    main = part.example.main
    operands = list(main.operands)
    call = main.operations[0]
    filter = next((operands[i] for i in call.inputs if operands[i].channel_quant), None)
    if filter is None or filter.channel_quant is None:
        return None
    first = operands[call.inputs[0]]
    scales = tuple(float(scale) * first.scale for scale in filter.channel_quant.scales)
    operands[place] = replace(
        operands[place], channel_quant=replace(filter.channel_quant, channel_dim=0, scales=scales)
    )
    changed = replace(part, example=replace(part.example, main=replace(main, operands=tuple(operands))))
    return on_real_numbers(changed, values)


def as_real(operand: OperandSpec, codes: Array) -> Array:
    """Return the dequantized values."""
    scale: Any = np.float64(operand.scale)
    if operand.channel_quant:
        shape = [1] * codes.ndim
        shape[operand.channel_quant.channel_dim] = -1
        scale = np.array(operand.channel_quant.scales, np.float64).reshape(shape)
    return np.asarray((codes.astype(np.float64) - operand.zero_point) * scale, np.float32)
