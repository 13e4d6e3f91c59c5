"""Compute quantized convolutions in float32 if they have few channels and leave an integer tile mostly empty."""

from nnapi.drivers.xnnpack.passes import cost_model
from nnapi.drivers.xnnpack.passes.float_weights import dequantize_bias, dequantize_constant
from nnapi.formats.tflite.convolutions import Conv
from nnapi.formats.tflite.graph import Graph, Operator, Tensor

WORTH = 0.2
"""Share of its time that a convolution must save, as estimates are no more accurate."""


def compute_in_float(graph: Graph) -> Graph:
    """Return the graph with float32 convolutions between conversions, if that is predicted to be much faster."""
    if not cost_model.current_timings().is_measured:
        return graph
    reals: dict[Tensor, Tensor] = {}
    return graph.rewrite(lambda operator: rewrite_in_float(Conv(operator), reals) if _gains(Conv(operator)) else None)


def _gains(conv: Conv) -> bool:
    """Return whether an operator is a signed convolution that is much faster in float32."""
    if not (conv.is_constant_dense or conv.is_constant_depthwise):
        return False
    if not conv.input.type == conv.filter.type == conv.output.type == "i8":
        return False
    estimate = cost_model.estimate_depthwise if conv.is_depthwise else cost_model.estimate_dense
    signed = estimate(conv.operator)
    return -cost_model.estimate_float(conv.operator) > WORTH * signed


def rewrite_in_float(conv: Conv, reals: dict[Tensor, Tensor]) -> list[Operator]:
    """Return a convolution in float32 between conversions; ``reals`` caches dequantized inputs."""
    x, y = conv.input, conv.output
    before: list[Operator] = []
    if x not in reals:
        reals[x] = x.like(type="f32", scale=0.0, zero_point=0)
        before = [Operator("DEQUANTIZE", [x], [reals[x]])]
    inputs = list(conv.operator.inputs)
    inputs[conv.position] = reals[x]
    inputs[1], inputs[-1] = dequantize_constant(conv.filter), dequantize_bias(conv.bias)
    real = y.like(type="f32", scale=0.0, zero_point=0)
    return [*before, conv.operator.like(inputs, [real]), Operator("QUANTIZE", [real], [y])]
