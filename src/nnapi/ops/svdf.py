"""SVDF: one step of a filter over time, factored by singular values."""

from typing import Any

import numpy as np

from nnapi.codes import FuseCode, OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, one_of, positive
from nnapi.model.proposal import Draw, Proposal
from nnapi.ops.quantized_values import BOUNDS
from nnapi.ops.shapes import need_shape
from nnapi.ops.signature_types import floats

SVDF = Operation(
    OperationCode.SVDF,
    facts=Facts(Kind.RECURRENT),
    inputs=(
        Tensor("input", floats(), rank=2, late_rank=True),
        Tensor("weights_feature", like="input", rank=2, late_rank=True),
        Tensor("weights_time", like="input", rank=2, late_rank=True),
        Tensor("bias", like="input", rank=1, late_rank=True, optional=True),
        Tensor("state_in", like="input", rank=2, late_rank=True),
        Scalar("rank", OperandCode.INT32, check=positive),
        # Not an ActivationParameter, because the activation applies to the second output.
        Scalar("activation", OperandCode.INT32, check=one_of(*FuseCode)),
    ),
    outputs=(Tensor("state_out", like="input"), Tensor("output", like="input")),
)


@SVDF.shape
def infer_shapes(
    input: OperandType, weights_time: OperandType, state_in: OperandType, rank: int, **operands: Any
) -> list[Shape]:
    (batch, size), (filters, memory) = input.shape, weights_time.shape
    need(filters % rank == 0, f"rank is {rank}, must divide the {filters} filters of weights_time")
    need_shape("weights_feature", operands["weights_feature"], (filters, size))
    need_shape("bias", operands["bias"], (filters // rank,))
    need_shape("state_in", state_in, (batch, memory * filters))
    return [state_in.shape, (batch, filters // rank)]


@SVDF.kernel
def svdf(
    input: Array,
    weights_feature: Array,
    weights_time: Array,
    bias: Array | None,
    state_in: Array,
    rank: int,
    activation: int,
) -> list[Array]:
    (batch, _), (filters, memory) = input.shape, weights_time.shape
    state = state_in.reshape(batch, filters, memory).copy()
    state[:, :, -1] = input @ weights_feature.T
    y = (state * weights_time).sum(-1).reshape(batch, -1, rank).sum(-1)
    if bias is not None:
        y += bias
    shifted = np.zeros_like(state)
    shifted[:, :, :-1] = state[:, :, 1:]
    return [shifted.reshape(batch, -1), np.clip(y, *BOUNDS[FuseCode(activation)])]


@SVDF.proposal
def propose_svdf(draw: Draw) -> Proposal:
    batch, size = draw.need_rank(2) or (draw.dimension(7), draw.dimension(64))
    units, memory, rank = draw.dimension(33), draw.dimension(17), draw.pick(1, 1, 2, 3)
    shapes: dict[str, Shape] = {
        "input": (batch, size),
        "weights_feature": (units * rank, size),
        "weights_time": (units * rank, memory),
        "bias": (units,),
        "state_in": (batch, memory * units * rank),
    }
    return Proposal(shapes, {"rank": rank})
