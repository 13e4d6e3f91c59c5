"""The parts of transformers that combine the rows of a sequence.

ATTENTION: softmax(score_scale · query · keyᵀ + mask) · value, for each batch and head.
ROTARY_EMBEDDING: pairs of elements rotated by angles that depend on the row: x · cos + turned(x) · sin.
"""

import math

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, upto
from nnapi.model.proposal import MOST, Draw, Proposal
from nnapi.operation_codes import CompositeCode
from nnapi.ops.shapes import broadcast, need_shape
from nnapi.ops.signature_types import floats

MATRICES = (2, 3, 4)
"""The ranks of query, key and value: matrices, or batches of them."""

ATTENTION = Operation(
    CompositeCode.ATTENTION,
    facts=Facts(Kind.PRODUCT, summed=slice(-2, -1)),
    inputs=(
        Tensor("query", floats(3), rank=MATRICES, late_rank=True),
        Tensor("key", like="query", rank=MATRICES, late_rank=True),
        Tensor("value", like="query", rank=MATRICES, late_rank=True),
        Tensor("mask", like="query", rank=upto(4), optional=True, since=3),
        Scalar("score_scale", OperandCode.FLOAT32, since=3),
    ),
    outputs=(Tensor("out", like="query"),),
)
"""``query`` is […, rows, width], ``key`` […, keys, width], ``value`` […, keys, any width]; ``mask`` is added to the
scores […, rows, keys], to which it broadcasts."""

ROTARY_EMBEDDING = Operation(
    CompositeCode.ROTARY_EMBEDDING,
    facts=Facts(Kind.ELEMENTWISE),
    inputs=(
        Tensor("input", floats(3), rank=upto(4)),
        *(Tensor(name, like="input", rank=upto(4)) for name in ("cos", "sin")),
        Scalar("interleaved", OperandCode.BOOL, since=3),
    ),
    outputs=(Tensor("out", like="input"),),
)
"""``cos`` and ``sin`` broadcast to the input. A pair is two neighbors of the last axis if ``interleaved``, else an
element of its first half and that of its second half; the turned pair (a, b) is (-b, a)."""


@ATTENTION.shape
def infer_attention_shape(
    query: OperandType, key: OperandType, value: OperandType, mask: OperandType | None, score_scale: float
) -> Shape:
    *batches, rows, width = query.shape
    *others, keys, _ = key.shape
    need(others == batches, f"key has leading dimensions {others}, query has {batches}")
    need_shape("key", key, (*batches, keys, width))
    need_shape("value", value, (*batches, keys, value.shape[-1]))
    scores = (*batches, rows, keys)
    if mask is not None and broadcast(("mask", "scores"), mask.shape, scores) != scores:
        need_shape("mask", mask, scores)
    return (*batches, rows, value.shape[-1])


@ATTENTION.kernel
def attend(query: Array, key: Array, value: Array, mask: Array | None, score_scale: float) -> Array:
    scores = query @ key.swapaxes(-1, -2) * np.float32(score_scale)
    if mask is not None:
        scores = scores + mask
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ value


@ROTARY_EMBEDDING.shape
def infer_rotary_shape(input: OperandType, cos: OperandType, sin: OperandType, interleaved: bool) -> Shape:
    need(input.rank and input.shape[-1] % 2 == 0, f"input has shape {list(input.shape)}, its rows do not form pairs")
    for name, angles in (("cos", cos), ("sin", sin)):
        if broadcast((name, "input"), angles.shape, input.shape) != input.shape:
            need_shape(name, angles, input.shape)
    return input.shape


@ROTARY_EMBEDDING.kernel
def rotate(input: Array, cos: Array, sin: Array, interleaved: bool) -> Array:
    if interleaved:
        turned = np.stack([-input[..., 1::2], input[..., ::2]], -1).reshape(input.shape)
    else:
        first, second = np.split(input, 2, -1)
        turned = np.concatenate([-second, first], -1)
    return input * cos + turned * sin


@ATTENTION.proposal
def propose_attention(draw: Draw) -> Proposal:
    *batches, rows, width = draw.shape(2, 3, 4)
    keys = draw.dimension(max(1, MOST // math.prod((*batches, max(rows, width)))))
    value = (*batches, keys, draw.dimension(max(1, MOST // math.prod((*batches, keys)))))
    scores = (*batches, rows, keys)
    mask = draw.pick(scores, scores[-2:], (keys,), tuple(draw.pick(1, size) for size in scores))
    shapes = {"query": (*batches, rows, width), "key": (*batches, keys, width), "value": value, "mask": mask}
    return Proposal(shapes, {"score_scale": draw.pick(1.0, width**-0.5)})


@ROTARY_EMBEDDING.proposal
def propose_rotary_embedding(draw: Draw) -> Proposal:
    shape = draw.shape()
    if draw.given is None:
        *outer, width = draw.bound((*shape[:-1], 2 * shape[-1]))
        shape = (*outer, width + width % 2)
    need(shape[-1] % 2 == 0, "the rows of the tensor do not form pairs", BadDataError)
    angles = draw.pick(shape, shape[-2:], shape[-1:])
    return Proposal({"input": shape, "cos": angles, "sin": angles})
