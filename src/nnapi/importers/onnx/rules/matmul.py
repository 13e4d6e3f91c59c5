"""Products of matrices."""

import math
from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode, PaddingCode
from nnapi.importers.broadcasting import broadcast, broadcast_shape
from nnapi.importers.graph import QUANT8, Value
from nnapi.importers.onnx.node import HIGHEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import rule
from nnapi.importers.onnx.rule_results import compose
from nnapi.importers.onnx.rules.matmul_blockwise import multiply as multiply_packed
from nnapi.importers.onnx.rules.movement import permute_any_rank, permute_axes
from nnapi.importers.onnx.rules.quantized_operands import (
    filter_beside,
    is_quantized_float,
    quantize_bias,
    reshape_and_transpose,
    zeros,
)
from nnapi.importers.onnx.tensors import BYTES, DYNAMIC, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term
from nnapi.model.operand import ChannelQuantization, OperandType, Shape


@rule("MatMul")
def matmul(node: OnnxNode) -> OnnxTensor:
    """Lower MatMul, to FULLY_CONNECTED if the right matrix is constant; vectors become matrices first."""
    a, b = node.shape(0), node.shape(1)
    expressible(node.tensor(0).elem not in BYTES, "NNAPI multiplies no matrices of bytes without a scale")
    expressible(a and b, "one of its inputs is a scalar")
    wide_a, wide_b = ((1, *a) if len(a) == 1 else a), ((*b, 1) if len(b) == 1 else b)
    expressible(DYNAMIC in (wide_a[-1], wide_b[-2]) or wide_a[-1] == wide_b[-2], f"{list(a)} times {list(b)}")
    weights = node.tensor(1).array
    if (packed := node.tensor(1).packed) is not None:
        return multiply_packed(node, packed)
    batches = broadcast_shape([wide_a[:-2], wide_b[:-2]])
    shape = (*batches, *(a[-2:-1]), *(b[-1:] if len(b) > 1 else ()))
    flat = fully_connected_quantized(node, a, wide_b, transposed=False) if len(wide_b) == 2 else None
    if flat is not None:
        return node.result(flat, shape)
    x, y = node.input(0), node.input(1)
    if weights is not None and len(wide_b) == 2 and x.is_float:
        flat = fully_connected(node, x, a, node.constant(weights.reshape(wide_b).T, x))
        return node.result(flat, shape)
    product = batch_product(node, (x, wide_a), (y, wide_b), batches)
    return node.result(product, shape)


def fully_connected_quantized(node: OnnxNode, a: Shape, b: Shape, *, transposed: bool) -> Value | None:
    """Multiply quantized input 0 by a constant matrix of shape ``b``; return None if one is not quantized."""
    if node.wanted is None or not is_quantized_float(node.tensor(0)):
        return None
    x = node.stored(0)
    weights = filter_beside(node, x, 1)
    if weights is None or node.wanted.code != x.type.code or x.array is not None:
        return None
    matrix = reshape_and_transpose(weights, b, (0, 1) if transposed else (1, 0))
    channel = matrix.type.channel
    if weights.type.channel and not node.tensor(1).quantized.type.channel:  # type: ignore[union-attr]
        channel = ChannelQuantization(0, (weights.type.channel.scales[0],) * matrix.shape[0])
        matrix = Value(matrix.type.replace(channel=channel), matrix.name, matrix.array)
    units, depth = matrix.shape
    if channel is not None and channel.dimension != 0:
        return None
    bias = quantize_bias(node, node.given(2) if node.kind == "Gemm" else None, x, matrix)
    if bias is None:
        return None
    rows = _count_rows(a)
    if channel is None:
        flat = node.view(x, (rows, depth))
        return node.claim_activation(
            node.apply(OperationCode.FULLY_CONNECTED, flat, matrix, bias, node.activation_operand(), type=node.wanted)
        )
    type = OperandType(matrix.type.code, (units, 1, 1, depth), channel=channel)
    filter = Value(type, matrix.name, matrix.constant.reshape(type.dimensions))
    pixels = node.view(x, (rows, 1, 1, depth))
    scheme, one = node.i32(PaddingCode.PADDING_VALID), node.i32(1)
    operands = (pixels, filter, bias, scheme, one, one, node.activation_operand())
    found = node.apply(OperationCode.CONV_2D, *operands, type=node.wanted)
    return node.claim_activation(node.view(found, (rows, units)))


def fully_connected(node: OnnxNode, x: Value, shape: Shape, weights: Value, bias: Value | None = None) -> Value:
    """Multiply the rows of a value, whose shape in the file is ``shape``, by weights [units, depth]."""
    units, depth = weights.shape
    matrix = node.view(x, (_count_rows(shape), depth))
    return node.apply(OperationCode.FULLY_CONNECTED, matrix, weights, bias or zeros(node, x, units), node.i32(0))


def multiply_dynamic_range(node: OnnxNode, tensor: OnnxTensor, weights: OnnxTensor) -> OnnxTensor | None:
    """Multiply floats by a constant matrix that stays quantized; return None if it has a zero point."""
    matrix, shape = weights.quantized, tensor.dims
    if matrix is None or matrix.rank != 2 or matrix.type.code == QUANT8 or matrix.type.zero_point or not shape:
        return None
    real = node.graph.real_at_run(reshape_and_transpose(matrix, matrix.shape, (1, 0)))
    return node.result(fully_connected(node, tensor.materialize(), shape, real), (*shape[:-1], real.shape[0]))


def _count_rows(shape: Shape) -> int:
    return DYNAMIC if DYNAMIC in shape[:-1] else math.prod(shape[:-1])


def batch_product(node: OnnxNode, left: tuple[Value, Shape], right: tuple[Value, Shape], batches: Shape) -> Value:
    """Lower to BATCH_MATMUL; NNAPI does not broadcast batches."""
    if left[1][:-2] != right[1][:-2] or len(left[1]) > HIGHEST_RANK:
        left, right = _stack(node, *left, batches), _stack(node, *right, batches)
    matrices = node.view(*left), node.view(*right)
    return node.apply(OperationCode.BATCH_MATMUL, *matrices, node.flag(False), node.flag(False))


def _stack(node: OnnxNode, value: Value, shape: Shape, batches: Shape) -> tuple[Value, Shape]:
    """Return a value's matrices, repeated to all ``batches``, and the shape with all batches merged into one axis."""
    own, matrix, count = shape[:-2], shape[-2:], math.prod(batches)
    is_static = DYNAMIC not in (*own, *batches)
    expressible(is_static, "its dynamic batches stretch; fix them by load(shapes=…) or --shape")
    if math.prod(own) != count:
        value = _repeat(node, value, (1,) * (len(batches) - len(own)) + tuple(own), batches, matrix)
    return value, (count, *matrix)


def _repeat(node: OnnxNode, value: Value, own: Shape, batches: Shape, matrix: Shape) -> Value:
    size = math.prod(matrix)
    if len(batches) + 1 > HIGHEST_RANK:
        expressible(all(each == 1 for each in own), f"its batches stretch along {len(batches)} axes")
        return broadcast(node, node.view(value, (1, size)), (math.prod(batches), size))
    return broadcast(node, node.view(value, (*own, size)), (*batches, size))


@rule("Gemm")
def gemm(node: OnnxNode) -> OnnxTensor:
    a, b = node.shape(0), node.shape(1)
    expressible(len(a) == len(b) == 2, "its matrices are not of rank 2")
    alpha, beta = float(node.attribute("alpha", 1.0)), float(node.attribute("beta", 1.0))
    transposes_a, transposes_b = bool(node.attribute("transA", 0)), bool(node.attribute("transB", 0))
    shape = (a[1] if transposes_a else a[0], b[0] if transposes_b else b[1])
    if (packed := node.tensor(1).packed) is not None:
        bias = _bias(node, shape[1], 1)
        found = multiply_packed(node, packed, bias)
        return found if bias is not None or not node.has(2) else compose(node, "Add", found, node.tensor(2))
    if alpha == beta == 1 and not transposes_a:
        flat = fully_connected_quantized(node, a, b, transposed=transposes_b)
        if flat is not None:
            return node.result(flat, shape)
    x, weights, bias = node.input(0), node.tensor(1).array, None
    if x.is_float and weights is not None:
        bias = _bias(node, shape[1], beta)
        x = permute_axes(node, x, (1, 0)) if transposes_a else x
        matrix = (weights if transposes_b else weights.T) * np.asarray(alpha, weights.dtype)
        product = fully_connected(node, x, a[::-1] if transposes_a else a, node.constant(matrix, x), bias)
    else:
        flags = node.flag(transposes_a), node.flag(transposes_b)
        product = _times(node, node.apply(OperationCode.BATCH_MATMUL, x, node.input(1), *flags), alpha)
    if node.has(2) and bias is None and beta != 0:
        product = (Term(node, product) + Term(node, _times(node, node.input(2), beta))).value
    return node.result(product, shape)


def _bias(node: OnnxNode, units: int, beta: float) -> Value | None:
    """Return Gemm's C as the bias of FULLY_CONNECTED; None unless it is constant, with one element or one per unit."""
    if not node.has(2) or beta == 0:
        return None
    array = node.tensor(2).array
    if array is None or array.size not in (1, units) or (array.ndim and array.shape[-1] not in (1, units)):
        return None
    if array.ndim == 2 and array.shape[0] != 1:
        return None
    spread = np.broadcast_to(array.reshape(-1), (units,)) * np.asarray(beta, array.dtype)
    return node.constant(spread, node.input(0))


def _times(node: OnnxNode, value: Value, factor: float) -> Value:
    if factor == 1:
        return value
    expressible(value.is_float or factor == int(factor), f"it multiplies integers by {factor:g}")
    return (Term(node, value) * factor).value


@rule("Einsum")
def einsum(node: OnnxNode) -> OnnxTensor:
    """Lower Einsum of inputs without diagonals to products of two, as matrices, and a transpose."""
    equation = node.attribute("equation", "").replace(" ", "")
    expressible("." not in equation and equation, "its equation leaves out axes")
    left, _, right = equation.partition("->")
    inputs = left.split(",")
    if "->" not in equation:
        right = "".join(sorted(each for each in set(left) - {","} if left.count(each) == 1))
    expressible(len(inputs) == node.count, f"{len(inputs)} terms for {node.count} inputs")
    sizes: dict[str, int] = {}
    values = []
    for i, letters in enumerate(inputs):
        shape = node.static_shape(i)
        expressible(len(letters) == len(shape), f"{letters} for {list(shape)}")
        expressible(len(set(letters)) == len(letters), "it takes a diagonal")
        sizes.update(zip(letters, shape, strict=True))
        kept = {*right, *(each for k, other in enumerate(inputs) if k != i for each in other)}
        values.append(_sum_others(node, node.input(i), letters, kept))
    value, letters = values[0]
    for i, other in enumerate(values[1:], 2):
        later = "".join(each for _, each in values[i:])
        value, letters = _contract(node, [(value, letters), other], right + later, sizes)
    expressible(sorted(letters) == sorted(right), f"its equation {equation} repeats or lacks a letter of its inputs")
    return node.result(_lay(node, value, letters, sizes, *right), tuple(sizes[each] for each in right))


def _lay(node: OnnxNode, value: Value, letters: str, sizes: dict[str, int], *groups: Sequence[str]) -> Value:
    """Transpose a value to the order of ``groups``; merge the axes of each group if the rank requires it."""
    shape, order = tuple(sizes[each] for each in letters), [letters.index(each) for group in groups for each in group]
    if len(shape) <= HIGHEST_RANK:
        value = node.view(value, shape)
    moved = permute_any_rank(node, value, shape, order)
    if len(groups) > HIGHEST_RANK:
        return moved
    return node.view(moved, [math.prod(sizes[each] for each in group) for group in groups])


def _sum_others(node: OnnxNode, value: Value, letters: str, kept: set[str]) -> tuple[Value, str]:
    alone = [i for i, each in enumerate(letters) if each not in kept]
    if not alone:
        return value, letters
    expressible(len(letters) <= HIGHEST_RANK, f"an input has rank {len(letters)}, NNAPI reduces at most {HIGHEST_RANK}")
    summed = node.apply(OperationCode.REDUCE_SUM, value, node.graph.ints(alone), node.flag(False))
    return summed, "".join(each for each in letters if each in kept)


def _contract(
    node: OnnxNode, values: Sequence[tuple[Value, str]], right: str, sizes: dict[str, int]
) -> tuple[Value, str]:
    """Multiply two values as matrices, over the common letters that ``right`` lacks; return product and letters."""
    (x, a), (y, b) = values
    both = [each for each in a if each in b]
    batch, inner = [each for each in both if each in right], [each for each in both if each not in right]
    rows, columns = [each for each in a if each not in b], [each for each in b if each not in a]
    if not inner and not rows and not columns:
        first, second = (Term(node, _lay(node, value, letters, sizes, a)) for value, letters in values)
        return (first * second).value, a
    matrices = _lay(node, x, a, sizes, batch, rows, inner), _lay(node, y, b, sizes, batch, inner, columns)
    product = node.apply(OperationCode.BATCH_MATMUL, *matrices, node.flag(False), node.flag(False))
    return product, "".join((*batch, *rows, *columns))
