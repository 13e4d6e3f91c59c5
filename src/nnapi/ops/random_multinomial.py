"""RANDOM_MULTINOMIAL: classes drawn at random by their logits."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, positive
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import FLOAT16, FLOAT32, INT32

RANDOM_MULTINOMIAL = Operation(
    OperationCode.RANDOM_MULTINOMIAL,
    facts=Facts(traits=Trait.DRAWS),
    inputs=(
        Tensor("logits", {FLOAT32: 3, FLOAT16: 3}, rank=2, late_rank=True),
        Scalar("sample_count", OperandCode.INT32, since=3, check=positive),
        Tensor("seeds", INT32, since=3, rank=1, late_rank=True),
    ),
    outputs=(Tensor("samples", INT32, since=3),),
    failure=BadDataError,
)


@RANDOM_MULTINOMIAL.shape
def infer_shape(logits: OperandType, sample_count: int, seeds: OperandType) -> Shape:
    need_shape("seeds", seeds, (2,))
    return (logits.shape[0], sample_count)


@RANDOM_MULTINOMIAL.kernel
def random_multinomial(logits: Array, sample_count: int, seeds: Array) -> Array:
    key = seeds.astype(np.uint32).astype(np.uint64) if seeds.any() else None  # two zeros request a random seed
    generator = np.random.Generator(np.random.Philox(key=key))
    rows, classes = logits.shape
    finite = np.where(np.isfinite(logits), logits, -np.inf).astype(np.float64)
    highest = finite.max(-1, keepdims=True)
    weights = np.exp(finite - np.where(np.isfinite(highest), highest, 0))
    cumulative = weights.cumsum(-1)
    # One search serves all rows: the cumulative weights and draws of row r are shifted into [r, r + 1). Draws have 32
    # bits, so that adding r is exact.
    row = np.arange(rows)[:, np.newaxis]
    total = np.where(cumulative[:, -1:] > 0, cumulative[:, -1:], 1)
    draws = generator.integers(2**32, size=(rows, sample_count)) / 2.0**32
    found = np.searchsorted((cumulative / total + row).ravel(), (draws + row).ravel(), side="right")
    return np.minimum(found.reshape(rows, sample_count) - row * classes, classes - 1)


@RANDOM_MULTINOMIAL.proposal
def propose_multinomial(draw: Draw) -> Proposal:
    shapes: dict[str, Shape] = {"logits": (draw.dimension(5), draw.dimension(17))}
    return Proposal(shapes, {"sample_count": draw.dimension(33)}, {"seeds": [draw.upto(9), draw.upto(9)]})
