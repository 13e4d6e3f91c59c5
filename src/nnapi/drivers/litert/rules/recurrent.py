"""Recurrent cells without gates: RNN, its sequences, and SVDF."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.drivers.litert.rules.recurrent_directions import run_both
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.lowering.decompositions.recurrent_time import MOST_UNROLLED
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite import recurrent as canonical
from nnapi.lowering.tflite.recurrent import step_of
from nnapi.model.operand import OperandType
from nnapi.operation_codes import CompositeCode as Composite


@lower(Op.RNN)
def rnn(
    context: LitertContext, input: Tensor, recurrent_weights: Tensor, hidden_in: Tensor, activation: int, **others: Any
) -> Sequence[Tensor]:
    """Decompose into two products and their sum, because the engine's operator needs a variable for the state."""
    out = context.result()
    seen = context.product(input, context.stored_tensor("weights"), context.stored_tensor("bias"))
    remembered = context.product(hidden_in, recurrent_weights, None)
    context.emit("ADD", [seen, remembered], out, activation=activation)
    return out, out


@lower(Op.UNIDIRECTIONAL_SEQUENCE_RNN)
def sequence_rnn(
    context: LitertContext, input: Tensor, recurrent_weights: Tensor, hidden_in: Tensor, activation: int, **others: Any
) -> Sequence[Tensor]:
    inputs = [input, context.stored_tensor("weights"), recurrent_weights, context.stored_tensor("bias"), hidden_in]
    kind, is_major = "UNIDIRECTIONAL_SEQUENCE_RNN", bool(others["time_major"])
    out = context.emit(kind, inputs, context.result(), time_major=is_major, activation=activation)
    return (out,) if len(context.call.results) == 1 else (out, step_of(context, out, is_major))


@lower(Composite.RNN_SEQUENCE)
def composite_rnn(context: LitertContext, input: Tensor, time_major: bool, **others: Any) -> Sequence[Tensor]:
    """Lower a long sequence to the engine's operator. Its steps take 2 to 6 times as long as single operators."""
    steps = input.shape[canonical.find_time_axis(time_major)]
    require(steps > MOST_UNROLLED, f"its {steps} steps are faster as single operators")
    return canonical.sequence_rnn(context, input, time_major=time_major, **others)


@lower(Op.BIDIRECTIONAL_SEQUENCE_RNN)
def both_directions_rnn(
    context: LitertContext,
    input: Tensor,
    aux_input: Tensor | None,
    activation: int,
    time_major: bool,
    merge_outputs: bool,
    **operands: Any,
) -> Sequence[Tensor]:
    def compute(prefix: str, x: Tensor) -> Sequence[Tensor]:
        roles = ("weights", "recurrent_weights", "bias", "hidden_in", "aux_weights")
        weights, recurrent_weights, bias, hidden, aux_weights = (operands[prefix + role] for role in roles)
        if aux_weights is not None:
            weights = context.concatenate([weights, aux_weights], 1)
        out = input.like(shape=(*input.shape[:2], hidden.shape[1]))
        known = [x, weights, recurrent_weights, bias, hidden]
        context.emit("UNIDIRECTIONAL_SEQUENCE_RNN", known, out, time_major=time_major, activation=activation)
        return (out,)

    is_weighted = operands["fw_aux_weights"] is not None
    return run_both(context, input, aux_input, is_weighted, time_major, merge_outputs, compute)


@lower(Op.SVDF)
def svdf(
    context: LitertContext,
    input: Tensor,
    weights_feature: Tensor,
    weights_time: Tensor,
    bias: OperandType | None,
    state_in: Tensor,
    rank: int,
    activation: int,
) -> Sequence[Tensor]:
    """Decompose: append the input's features to the state, sum along time, then shift the state by one."""
    state_out, out = context.result(0), context.result(1)
    batch, (filters, memory) = input.shape[0], weights_time.shape
    features = context.product(input, weights_feature, None)
    state = context.reshape(features, (batch, filters, 1))
    if memory > 1:
        earlier = context.reshape(state_in, (batch, filters, memory))
        state = context.concatenate([context.cut(earlier, (0, 0, 0), (batch, filters, memory - 1)), state], 2)
    weighted = context.combine("MUL", state, weights_time)
    sums = context.emit("SUM", [weighted, constant([2])], state.like(shape=(batch, filters, 1)), keep_dims=1)
    ranks = context.reshape(sums, (batch, filters // rank, rank))
    total = context.emit("SUM", [ranks, constant([2])], state.like(shape=(batch, filters // rank, 1)), keep_dims=1)
    flat = context.reshape(total, out.shape)
    offset = context.fill(flat, 0) if bias is None else context.stored_tensor("bias")
    context.emit("ADD", [flat, offset], out, activation=activation)
    if memory > 1:
        moved = context.pad(context.cut(state, (0, 0, 1), (batch, filters, memory - 1)), [(0, 0), (0, 0), (0, 1)])
        context.reshape(moved, state_out.shape, state_out)
    else:
        zeros = constant(np.zeros(state_out.shape), "f32")  # full size: the engine would return a single 0
        context.emit("MUL", [context.reshape(state, state_out.shape), zeros], state_out, activation=0)
    return state_out, out
