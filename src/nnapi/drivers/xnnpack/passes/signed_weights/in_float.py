"""Compute quantized convolutions in float32 where few channels leave an integer tile mostly empty."""

from __future__ import annotations

import numpy as np

from nnapi.drivers.xnnpack.passes.signed_weights import cost_model
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.model.operand import Array

WORTH = 0.2
"""The share of its time that a convolution must save: the accuracy of estimates."""


def compute_in_float(graph: Graph) -> Graph:
    """Return the graph with such convolutions on dequantized values, and results rounded to quantized values."""
    if not cost_model.timings().is_measured:
        return graph
    reals: dict[Tensor, Tensor] = {}
    operators: list[Operator] = []
    for operator in graph.operators:
        operators += _rewrite(Conv(operator), reals) if _gains(Conv(operator)) else [operator]
    return graph.with_operators(operators)


def _gains(conv: Conv) -> bool:
    """Whether an operator is a signed convolution that is much faster in float32."""
    if not (conv.is_constant_dense or conv.is_constant_depthwise):
        return False
    if not conv.input.type == conv.filter.type == conv.output.type == "i8":
        return False
    estimate = cost_model.estimate_depthwise if conv.is_depthwise else cost_model.estimate_dense
    signed = estimate(conv.operator)
    return -cost_model.estimate_float(conv.operator) > WORTH * signed


def _rewrite(conv: Conv, reals: dict[Tensor, Tensor]) -> list[Operator]:
    x, filter, bias, y = conv.input, conv.filter, conv.bias, conv.output
    before: list[Operator] = []
    if x not in reals:
        reals[x] = x.like(type="f32", scale=0.0, zero_point=0)
        before = [Operator("DEQUANTIZE", [x], [reals[x]])]
    numbers = _multiply(filter.value.astype(np.float32) - np.float32(filter.zero_point), filter.scale, filter.axis)
    weights = Tensor("f32", filter.shape, data=numbers, name=filter.name)
    sums = (bias.value * np.asarray(bias.scale, np.float64)).astype(np.float32)
    offsets = Tensor("f32", bias.shape, data=sums, name=bias.name)
    real = y.like(type="f32", scale=0.0, zero_point=0)
    computed = conv.operator.like([reals[x], weights, offsets], [real])
    return [*before, computed, Operator("QUANTIZE", [real], [y])]


def _multiply(numbers: Array, scale: float | Array, axis: int) -> Array:
    factors = np.asarray(scale, np.float32)
    shape = [-1 if index == axis else 1 for index in range(numbers.ndim)]
    return numbers * (factors.reshape(shape) if factors.ndim else factors)
