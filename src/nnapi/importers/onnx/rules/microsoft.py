"""Operators of the domain com.microsoft that ONNX Runtime's transformer optimizer and quantizer write.

Each is composed of operators of the default domain, so that all their rules hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.importers.onnx.node import Node
from nnapi.importers.onnx.rules import Result, rule
from nnapi.importers.onnx.tensors import Tensor, constant
from nnapi.importers.refusals import expressible
from nnapi.model.operand import Array

DYNAMIC = "inputs are not quantized: results are closer to float32 than ONNX Runtime's"

FUSED_ATTRIBUTES = {
    "Conv": ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"),
    "Gemm": ("alpha", "beta", "transA", "transB"),
}
"""Attributes that fused operators have from the operator of the default domain."""


def compose(node: Node, kind: str, *tensors: Tensor | None, **attributes: Any) -> Tensor:
    """Apply an operator of the default domain, under a name that nothing in the file reads."""
    number = len(node.graph.steps)
    return node.conversion.apply_operator(kind, tensors, f"{node.name}:{kind}{number}", **attributes)


def number(node: Node, value: float, like: Tensor) -> Tensor:
    """A scalar constant in the type of a float tensor."""
    dtype = np.float16 if like.elem == 10 else np.float32
    return constant(f"{node.name}:number", np.array(value, dtype))


def optional(node: Node, i: int) -> Tensor | None:
    return node.tensor(i) if node.has(i) else None


def add(node: Node, x: Tensor, y: Tensor | None) -> Tensor:
    return x if y is None else compose(node, "Add", x, y)


@rule("com.microsoft:FusedMatMul", "com.microsoft:TransposeMatMul")
def fused_matmul(node: Node) -> Result:
    """A product of matrices of which either may be transposed, times a factor."""
    expressible(not node.attribute("transBatchA", 0) and not node.attribute("transBatchB", 0), "it transposes batches")
    factors = []
    for i, name in enumerate(("transA", "transB")):
        tensor = node.tensor(i)
        if node.attribute(name, 0) and tensor.rank > 1:
            order = [*range(tensor.rank - 2), tensor.rank - 1, tensor.rank - 2]
            if tensor.array is not None:
                tensor = constant(f"{tensor.name}:transposed", np.ascontiguousarray(tensor.array.transpose(order)))
            else:
                tensor = compose(node, "Transpose", tensor, perm=order)
        factors.append(tensor)
    found = compose(node, "MatMul", *factors)
    alpha = float(node.attribute("alpha", 1.0))
    return found if alpha == 1 else compose(node, "Mul", found, number(node, alpha, found))


@rule("com.microsoft:SkipLayerNormalization")
def skip_layer_normalization(node: Node) -> list[Result | None]:
    """LayerNormalization of input, skip and bias together."""
    total = add(node, compose(node, "Add", node.tensor(0), node.tensor(1)), optional(node, 4))
    epsilon = float(node.attribute("epsilon", 1e-12))
    found = compose(
        node, "LayerNormalization", total, node.tensor(2), optional(node, 3), axis=total.rank - 1, epsilon=epsilon
    )
    return [found, None, None, total]


@rule("com.microsoft:SkipSimplifiedLayerNormalization")
def skip_simplified_layer_normalization(node: Node) -> list[Result | None]:
    """Root mean square normalization of input, skip and bias together."""
    total = add(node, compose(node, "Add", node.tensor(0), node.tensor(1)), optional(node, 3))
    return [_divide_by_root_mean_square(node, total, node.tensor(2)), None, None, total]


@rule("SimplifiedLayerNormalization", "com.microsoft:SimplifiedLayerNormalization")
def simplified_layer_normalization(node: Node) -> Result:
    """Root mean square normalization along the last axis."""
    rank = node.tensor(0).rank
    expressible(node.axis(int(node.attribute("axis", -1)), rank) == rank - 1, "its axis is not the last one")
    return _divide_by_root_mean_square(node, node.tensor(0), node.tensor(1))


def _divide_by_root_mean_square(node: Node, x: Tensor, scale: Tensor) -> Tensor:
    square = compose(node, "Mul", x, x)
    last = constant(f"{node.name}:axes", np.array([x.rank - 1]))
    if node.conversion.opsets.get("", 18) >= 18:
        mean = compose(node, "ReduceMean", square, last, keepdims=1)
    else:
        mean = compose(node, "ReduceMean", square, axes=[x.rank - 1], keepdims=1)
    raised = compose(node, "Add", mean, number(node, float(node.attribute("epsilon", 1e-5)), x))
    return compose(node, "Mul", compose(node, "Div", x, compose(node, "Sqrt", raised)), scale)


@rule("com.microsoft:BiasGelu", "com.microsoft:Gelu", "com.microsoft:FastGelu")
def gelu(node: Node) -> Result:
    """Gelu of the input plus a bias; FastGelu approximates it by a hyperbolic tangent."""
    x = add(node, node.tensor(0), optional(node, 1))
    if node.kind != "FastGelu":
        return _half(node, x, compose(node, "Erf", compose(node, "Mul", x, number(node, 0.5**0.5, x))))
    cube = compose(node, "Mul", compose(node, "Mul", x, x), x)
    inner = compose(node, "Add", x, compose(node, "Mul", cube, number(node, 0.044715, x)))
    return _half(node, x, compose(node, "Tanh", compose(node, "Mul", inner, number(node, 0.7978845608, x))))


def _half(node: Node, x: Tensor, part: Tensor) -> Tensor:
    """Return 0.5 · x · (1 + part)."""
    return compose(
        node,
        "Mul",
        compose(node, "Mul", x, number(node, 0.5, x)),
        compose(node, "Add", part, number(node, 1, x)),
    )


@rule("com.microsoft:QuickGelu")
def quick_gelu(node: Node) -> Result:
    x = node.tensor(0)
    inner = compose(node, "Mul", x, number(node, float(node.attribute("alpha", 1.702)), x))
    return compose(node, "Mul", x, compose(node, "Sigmoid", inner))


@rule("com.microsoft:FusedConv", "com.microsoft:FusedGemm")
def fused(node: Node) -> Result:
    """Conv or Gemm, plus a fourth input, and an activation."""
    kind = node.kind.removeprefix("Fused")
    attributes = {name: node.attribute(name) for name in FUSED_ATTRIBUTES[kind] if node.attribute(name) is not None}
    found = compose(node, kind, node.tensor(0), node.tensor(1), optional(node, 2), **attributes)
    found = add(node, found, optional(node, 3))
    activation = str(node.attribute("activation", "") or "")
    given = [float(each) for each in node.attribute("activation_params") or []]
    if not activation:
        return found
    if activation == "Clip":
        return compose(node, "Clip", found, *(number(node, each, found) for each in given))
    if activation == "LeakyRelu":
        alpha = given[0] if given else float(node.attribute("activation_alpha", 0.01))
        return compose(node, "LeakyRelu", found, alpha=alpha)
    expressible(activation in ("Relu", "Sigmoid", "Tanh"), f"its activation is {activation}")
    return compose(node, activation, found)


@rule("com.microsoft:QuantizeLinear", "com.microsoft:DequantizeLinear")
def convert_quantized(node: Node) -> Result:
    """The operators of the default domain, as they were before that had 16 bits."""
    return node.conversion.apply_rule(node.kind, node.tensors, node)


@rule("com.microsoft:MatMulNBits")
def matmul_n_bits(node: Node) -> Result:
    """A product with weights of a few bits, which are unpacked: [N, blocks, bytes] with a scale for each block."""
    columns, rows, bits, size = (int(node.attribute(name, 4)) for name in ("N", "K", "bits", "block_size"))
    expressible(not node.has(4), "its rows are in another order (g_idx)")
    expressible(bits in (2, 4, 8), f"its weights have {bits} bits")
    blocks = -(-rows // size)
    node.graph.reserve(8 * columns * blocks * size)
    values = _unpack(node.array(1).reshape(columns, blocks, -1), bits)[..., :size]
    need(values.shape == (columns, blocks, size), f"its weights are {list(node.shape(1))}", BadDataError)
    scales = node.array(2).astype(np.float32).reshape(columns, blocks, 1)
    points: Array = np.full((columns, blocks), 1 << (bits - 1), np.float32)
    if node.has(3):
        given = node.array(3)
        packed = _unpack(given.reshape(columns, -1), bits) if given.dtype == np.uint8 else given.reshape(columns, -1)
        points = packed[:, :blocks].astype(np.float32)
    weights = ((values.astype(np.float32) - points[..., None]) * scales).reshape(columns, -1)[:, :rows]
    dtype = node.array(2).dtype
    matrix = constant(f"{node.name}:weights", np.ascontiguousarray(weights.T.astype(dtype)))
    return add(node, compose(node, "MatMul", node.tensor(0), matrix), optional(node, 5))


def _unpack(packed: Array, bits: int) -> Array:
    """Numbers of a few bits, the lowest first, of the bytes along the last axis."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    found: Array = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return found.reshape(*packed.shape[:-1], -1)


@rule("com.microsoft:DynamicQuantizeMatMul")
def dynamic_quantize_matmul(node: Node) -> Result:
    """A product with quantized weights, of an input that ONNX Runtime quantizes at the run."""
    node.note(f"DynamicQuantizeMatMul: {DYNAMIC}")
    weights = compose(node, "DequantizeLinear", node.tensor(1), node.tensor(2), optional(node, 3), axis=-1)
    return add(node, compose(node, "MatMul", node.tensor(0), weights), optional(node, 4))


@rule("com.microsoft:MatMulIntegerToFloat")
def matmul_integer_to_float(node: Node) -> Result:
    """A product of quantized matrices as float values."""
    factors = [
        compose(node, "DequantizeLinear", node.tensor(i), node.tensor(2 + i), optional(node, 4 + i), axis=-1)
        for i in (0, 1)
    ]
    return add(node, compose(node, "MatMul", *factors), optional(node, 6))


@rule("com.microsoft:DynamicQuantizeLSTM")
def dynamic_quantize_lstm(node: Node) -> list[Result | None]:
    """LSTM with quantized weights, which lie as [directions, inputs, gates]."""
    node.note(f"DynamicQuantizeLSTM: {DYNAMIC}")
    weights = [_dequantize_gates(node, 1, 8), _dequantize_gates(node, 2, 10)]
    inputs = [node.tensor(0), *weights, *(optional(node, i) for i in range(3, 8))]
    found = node.conversion.apply_rules("LSTM", inputs, node)
    return list(found)


def _dequantize_gates(node: Node, i: int, scale: int) -> Tensor:
    values = node.array(i).astype(np.float32)
    directions = values.shape[0]
    scales = node.array(scale).astype(np.float32).reshape(directions, 1, -1)
    points = node.array(scale + 1).astype(np.float32).reshape(directions, 1, -1) if node.has(scale + 1) else 0
    node.graph.reserve(4 * values.size)
    found = ((values - points) * scales).swapaxes(1, 2)
    return constant(f"{node.name}:weights {i}", np.ascontiguousarray(found, np.float32))
