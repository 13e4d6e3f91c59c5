"""Operators of com.microsoft, composed of ONNX's operators."""

from typing import Any

import numpy as np

from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import Result, rule
from nnapi.importers.onnx.rule_results import apply_rule, apply_rules, compose
from nnapi.importers.onnx.rules.convolution import convolve_dynamic_range
from nnapi.importers.onnx.rules.matmul import multiply_dynamic_range
from nnapi.importers.onnx.tensors import OnnxTensor, constant
from nnapi.importers.refusals import expressible

FLOAT_INPUTS = "inputs are not quantized: results are closer to float32 than ONNX Runtime's"

ROWS_OR_FLOAT = "inputs are quantized by rows or not at all: results are closer to float32 than ONNX Runtime's"

_HALF = (0, 1 / 192, 2 / 3, 1, 1 / 3, 1 / 2, 1 / 6, 1 / 4)
FP4 = (*_HALF, *(-each for each in _HALF))
NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
"""The values of 4-bit floats, and of 4-bit numbers at quantiles of the normal distribution, in bitsandbytes."""

FUSED_ATTRIBUTES = {
    "Conv": ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"),
    "Gemm": ("alpha", "beta", "transA", "transB"),
}
"""Attributes that fused operators share with the operator of the default domain."""


def add(node: OnnxNode, x: OnnxTensor, y: OnnxTensor | None) -> OnnxTensor:
    return x if y is None else compose(node, "Add", x, y)


@rule("com.microsoft:FusedMatMul", "com.microsoft:TransposeMatMul")
def fused_matmul(node: OnnxNode) -> Result:
    found = compose(node, "MatMul", *(_transpose_factor(node, i, name) for i, name in enumerate("AB")))
    alpha = float(node.attribute("alpha", 1.0))
    return found if alpha == 1 else compose(node, "Mul", found, alpha)


def _transpose_factor(node: OnnxNode, i: int, name: str) -> OnnxTensor:
    """Return input ``i``, with its first axis after the batches for transBatch, and its last two swapped for trans."""
    tensor = node.tensor(i)
    order = [*range(tensor.rank)]
    if node.attribute(f"transBatch{name}", 0) and tensor.rank > 2:
        order = [*order[1:-1], order[0], order[-1]]
    if node.attribute(f"trans{name}", 0) and tensor.rank > 1:
        order[-2:] = order[-1], order[-2]
    return tensor if order == [*range(tensor.rank)] else compose(node, "Transpose", tensor, perm=order)


@rule("com.microsoft:SkipLayerNormalization", "com.microsoft:SkipSimplifiedLayerNormalization")
def skip_layer_normalization(node: OnnxNode) -> list[Result | None]:
    """Normalize the sum of input, skip and bias; the simplified operator has no beta."""
    is_simplified = node.kind == "SkipSimplifiedLayerNormalization"
    total = add(node, compose(node, "Add", node.tensor(0), node.tensor(1)), node.given(3 if is_simplified else 4))
    kind, operands = "LayerNormalization", [total, node.tensor(2), node.given(3)]
    if is_simplified:
        kind, operands = "RMSNormalization", operands[:2]
    epsilon = float(node.attribute("epsilon", 1e-5 if is_simplified else 1e-12))
    return [compose(node, kind, *operands, axis=total.rank - 1, epsilon=epsilon), None, None, total]


@rule("com.microsoft:BiasGelu", "com.microsoft:Gelu", "com.microsoft:FastGelu")
def gelu(node: OnnxNode) -> Result:
    """Lower Gelu of the input plus a bias; for FastGelu use its approximation."""
    approximate = "tanh" if node.kind == "FastGelu" else "none"
    return compose(node, "Gelu", add(node, node.tensor(0), node.given(1)), approximate=approximate)


@rule("com.microsoft:QuickGelu")
def quick_gelu(node: OnnxNode) -> Result:
    x = node.tensor(0)
    inner = compose(node, "Mul", x, float(node.attribute("alpha", 1.702)))
    return compose(node, "Mul", x, compose(node, "Sigmoid", inner))


@rule("com.microsoft:FusedConv", "com.microsoft:FusedGemm")
def fused(node: OnnxNode) -> Result:
    kind = node.kind.removeprefix("Fused")
    found = compose(node, kind, node.tensor(0), node.tensor(1), node.given(2), **_attributes(node, kind))
    found = add(node, found, node.given(3))
    activation = str(node.attribute("activation") or "Identity")
    given = [float(each) for each in node.attribute("activation_params") or []]
    if activation == "Clip":
        return compose(node, "Clip", found, *given)
    if activation == "LeakyRelu":
        alpha = given[0] if given else float(node.attribute("activation_alpha", 0.01))
        return compose(node, "LeakyRelu", found, alpha=alpha)
    expressible(activation in ("Identity", "Relu", "Sigmoid", "Tanh"), f"its activation is {activation}")
    return compose(node, activation, found)


def _attributes(node: OnnxNode, kind: str) -> dict[str, Any]:
    return {name: node.attribute(name) for name in FUSED_ATTRIBUTES[kind] if node.attribute(name) is not None}


@rule("com.microsoft:QuantizeLinear", "com.microsoft:DequantizeLinear")
def convert_quantized(node: OnnxNode) -> OnnxTensor:
    """Lower com.microsoft's QuantizeLinear and DequantizeLinear by the rules for ONNX's operators."""
    return apply_rule(node, node.kind, node.tensors)


@rule("com.microsoft:MatMulBnb4")
def matmul_bnb4(node: OnnxNode) -> Result:
    """Lower MatMulBnb4: look up weights of 4 bits in a table, with a scale for each block of the rows in sequence."""
    columns, rows, size, kind = (int(node.attribute(name, 0)) for name in ("N", "K", "block_size", "quant_type"))
    expressible(kind in (0, 1) and size > 0, f"its quant_type is {kind}, its block_size {size}")
    count = columns * rows
    node.graph.reserve(8 * count)
    packed = node.array(1).reshape(-1)
    expressible(2 * packed.size >= count, f"it has {packed.size} bytes for {columns} × {rows} weights of 4 bits")
    numbers = np.stack([packed >> 4, packed & 15], -1).reshape(-1)[:count]
    scales = np.repeat(node.array(2).astype(np.float32), size)[:count]
    expressible(scales.size == count, f"it has {node.array(2).size} scales for {count} weights")
    weights = (np.array((FP4, NF4)[kind], np.float32)[numbers] * scales).reshape(columns, rows)
    return compose(node, "MatMul", node.tensor(0), np.ascontiguousarray(weights.T.astype(node.array(2).dtype)))


@rule("com.microsoft:DynamicQuantizeMatMul")
def dynamic_quantize_matmul(node: OnnxNode) -> Result:
    """Lower DynamicQuantizeMatMul: weights stay quantized if an engine supports this; it quantizes inputs by rows."""
    node.note(f"DynamicQuantizeMatMul: {ROWS_OR_FLOAT}")
    weights = compose(node, "DequantizeLinear", node.tensor(1), node.tensor(2), node.given(3), axis=-1)
    node.conversion.state.dynamic_range = True
    product = multiply_dynamic_range(node, node.tensor(0), weights) or compose(node, "MatMul", node.tensor(0), weights)
    return add(node, product, node.given(4))


@rule("com.microsoft:DynamicQuantizeConv")
def dynamic_quantize_conv(node: OnnxNode) -> Result:
    """Lower DynamicQuantizeConv: the filter stays quantized if an engine supports this; it quantizes each image."""
    node.note(f"ConvInteger: {ROWS_OR_FLOAT}")
    scale, axis = node.array(2), 1 - node.tensor(1).rank
    expressible(scale.size in (1, *scale.shape[axis : axis + 1]), f"its scales are of shape {list(scale.shape)}")
    scales = scale.reshape(-1 if scale.size > 1 else ())
    filter = compose(node, "DequantizeLinear", node.tensor(1), scales, node.given(3), axis=0)
    node.conversion.state.dynamic_range = True
    return convolve_dynamic_range(node, filter) or compose(
        node, "Conv", node.tensor(0), filter, **_attributes(node, "Conv")
    )


@rule("com.microsoft:MatMulIntegerToFloat")
def matmul_integer_to_float(node: OnnxNode) -> Result:
    factors = [
        compose(node, "DequantizeLinear", node.tensor(i), node.tensor(2 + i), node.given(4 + i), axis=-1)
        for i in (0, 1)
    ]
    return add(node, compose(node, "MatMul", *factors), node.given(6))


@rule("com.microsoft:DynamicQuantizeLSTM")
def dynamic_quantize_lstm(node: OnnxNode) -> list[OnnxTensor | None]:
    node.note(f"DynamicQuantizeLSTM: {FLOAT_INPUTS}")
    weights = [_dequantize_gates(node, 1, 8), _dequantize_gates(node, 2, 10)]
    inputs = [node.tensor(0), *weights, *(node.given(i) for i in range(3, 8))]
    return apply_rules(node, "LSTM", inputs)


def _dequantize_gates(node: OnnxNode, i: int, scale: int) -> OnnxTensor:
    values = node.array(i).astype(np.float32)
    directions = values.shape[0]
    scales = node.array(scale).astype(np.float32).reshape(directions, 1, -1)
    points = node.array(scale + 1).astype(np.float32).reshape(directions, 1, -1) if node.has(scale + 1) else 0
    node.graph.reserve(4 * values.size)
    found = ((values - points) * scales).swapaxes(1, 2)
    return constant(f"{node.name}:weights {i}", np.ascontiguousarray(found, np.float32))
