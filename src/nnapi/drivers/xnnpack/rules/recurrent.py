"""Cells without gates: fully connected layers that see their last output, or their last inputs."""

from __future__ import annotations

from collections.abc import Sequence

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.lowering import lower
from nnapi.drivers.xnnpack.rules.directions import both_outputs, joined, linked, step_of
from nnapi.drivers.xnnpack.site import Site
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.model.operand import OperandType


@lower(Op.RNN)
def rnn(
    site: Site, input: Tensor, weights: OperandType, recurrent_weights: Tensor, bias: OperandType, hidden_in: Tensor,
    activation: int,
) -> Sequence[Tensor]:  # fmt: skip
    """Written out: two products and their sum, so that the state is no variable."""
    out = site.result()
    learnt = site.stored_tensor("weights"), site.stored_tensor("bias")
    seen = site.emit("FULLY_CONNECTED", [input, *learnt], out.like(), activation=0)
    remembered = site.emit("FULLY_CONNECTED", [hidden_in, recurrent_weights, None], out.like(), activation=0)
    site.emit("ADD", [seen, remembered], out, activation=activation)
    return out, out


@lower(Op.UNIDIRECTIONAL_SEQUENCE_RNN)
def sequence_rnn(
    site: Site, input: Tensor, weights: OperandType, recurrent_weights: Tensor, bias: OperandType, hidden_in: Tensor,
    activation: int, time_major: int,
) -> Sequence[Tensor]:  # fmt: skip
    inputs = [input, site.stored_tensor("weights"), recurrent_weights, site.stored_tensor("bias"), hidden_in]
    out = site.emit(
        "UNIDIRECTIONAL_SEQUENCE_RNN", inputs, site.result(), time_major=bool(time_major), activation=activation
    )  # fmt: skip
    return (out,) if len(site.call.results) == 1 else (out, step_of(site, out, bool(time_major)))


@lower(Op.BIDIRECTIONAL_SEQUENCE_RNN)
def both_directions_rnn(
    site: Site, input: Tensor, aux_input: Tensor | None, activation: int, time_major: bool, merge_outputs: bool,
    **operands: Tensor | None,
) -> Sequence[Tensor]:  # fmt: skip
    inputs = linked(site, input, aux_input, operands["fw_aux_weights"] is not None, time_major)
    outputs, states = [], []
    for way, x in zip(("fw", "bw"), inputs, strict=True):
        weights, aux_weights, recurrent_weights, bias, hidden = (
            operands[f"{way}_{role}"] for role in ("weights", "aux_weights", "recurrent_weights", "bias", "hidden_in")
        )
        assert weights is not None
        assert hidden is not None
        if aux_weights is not None:
            weights = joined(site, [weights, aux_weights], 1)
        out = input.like(shape=(*input.shape[:2], hidden.shape[1]))
        known = [x, weights, recurrent_weights, bias, hidden]
        site.emit("UNIDIRECTIONAL_SEQUENCE_RNN", known, out, time_major=time_major, activation=activation)
        outputs.append(out)
        states.append(step_of(site, out, time_major))
    results = both_outputs(site, outputs, merge_outputs, time_major)
    return results if len(site.call.results) == len(results) else [*results, *states]


@lower(Op.SVDF)
def svdf(
    site: Site, input: Tensor, weights_feature: Tensor, weights_time: Tensor, bias: OperandType | None,
    state_in: Tensor, rank: int, activation: int,
) -> Sequence[Tensor]:  # fmt: skip
    """Written out: the features of this input take the last place of the state, which moves up afterwards."""
    state_out, out = site.result(0), site.result(1)
    batch, (filters, memory) = input.shape[0], weights_time.shape
    features = site.emit(
        "FULLY_CONNECTED", [input, weights_feature, None], input.like(shape=(batch, filters)), activation=0
    )  # fmt: skip
    state = site.reshaped(features, (batch, filters, 1))
    if memory > 1:
        earlier = _columns(site, site.reshaped(state_in, (batch, filters, memory)), 0, memory - 1)
        state = site.emit(
            "CONCATENATION", [earlier, state], state.like(shape=(batch, filters, memory)), axis=2, activation=0
        )  # fmt: skip
    weighted = site.emit("MUL", [state, weights_time], state.like(), activation=0)
    sums = site.emit("SUM", [weighted, constant([2])], state.like(shape=(batch, filters, 1)), keep_dims=1)
    ranks = site.reshaped(sums, (batch, filters // rank, rank))
    total = site.emit("SUM", [ranks, constant([2])], state.like(shape=(batch, filters // rank, 1)), keep_dims=1)
    flat = site.reshaped(total, out.shape)
    offset = site.filled(flat, 0) if bias is None else site.stored_tensor("bias")
    site.emit("ADD", [flat, offset], out, activation=activation)
    moved = site.padded(_columns(site, state, 1, memory), [(0, 0), (0, 0), (0, 1)]) if memory > 1 else None
    if moved is None:
        site.emit("MUL", [site.reshaped(state, state_out.shape), site.filled(state, 0)], state_out, activation=0)
    else:
        site.emit("RESHAPE", [moved, constant(state_out.shape)], state_out)
    return state_out, out


def _columns(site: Site, state: Tensor, first: int, end: int) -> Tensor:
    part = state.like(shape=(*state.shape[:2], end - first))
    return site.emit("SLICE", [state, constant([0, 0, first]), constant(part.shape)], part)
