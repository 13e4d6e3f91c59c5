"""ATTENTION, ROTARY_EMBEDDING."""

import math

from nnapi.lowering.decomposition_builder import Decomposition, decomposition
from nnapi.model.builder import Tensor
from nnapi.operation_codes import CompositeCode as Composite


@decomposition(Composite.ATTENTION)
def attention(
    b: Decomposition, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, score_scale: float
) -> Tensor:
    """Scale the query, which mostly has fewer elements than the scores."""
    query = query if score_scale == 1 else query * score_scale
    scores = b.batch_matmul(query, key, False, True)
    scores = scores if mask is None else scores + mask
    return b.batch_matmul(b.softmax(scores, 1.0, -1), value, False, False)


@decomposition(Composite.ROTARY_EMBEDDING)
def rotary_embedding(b: Decomposition, input: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    shape = input.shape
    pairs = (math.prod(shape) // 2, 2) if interleaved else shape
    x, axis, half = b.reshape(input, pairs), len(pairs) - 1, pairs[-1] // 2
    first, second = b.block(x, axis, 0, half), b.block(x, axis, half, half)
    turned = b.reshape(b.concatenate([-second, first], axis), shape)
    return input * cos + turned * sin
