"""LSTM by LiteRT's own cells, for one step or a sequence."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert.context import LitertContext, lower
from nnapi.drivers.litert.lstm_cells import is_plain
from nnapi.drivers.litert.rules.convolution_filters import quantize_filter
from nnapi.drivers.litert.rules.recurrent_directions import run_both
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite import recurrent as canonical
from nnapi.lowering.tflite.recurrent import step_of
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.lstm_parameters import GATES, Cell, cell_of, operand_name
from nnapi.ops.quantized_lstm import gate_scales

SEQUENCE = "UNIDIRECTIONAL_SEQUENCE_LSTM"
MATRICES = [operand_name(role, gate) for role in ("input", "recurrent") for gate in GATES]
"""The weights, in the order of the operator's inputs."""
LARGEST_SUM = 2.0**31
"""Bound of LiteRT's 32-bit sums."""


@lower(Op.LSTM)
def lstm(
    context: LitertContext, input: Tensor, output_state_in: Tensor, cell_state_in: Tensor, **others: Any
) -> Sequence[Tensor]:
    """Lower LSTM; the scratch buffer becomes zeros."""
    scratch, hidden, cell = context.results(3)
    zeros = constant(np.zeros(scratch.shape), "f32")
    context.emit("ZEROS_LIKE", [zeros], scratch)
    _append(context, "LSTM", input, (output_state_in, cell_state_in), [hidden, cell], others)
    return scratch, hidden, cell, hidden


@lower(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    context: LitertContext, input: Tensor, output_state_in: Tensor, cell_state_in: Tensor, **others: Any
) -> Sequence[Tensor]:
    out, cell = context.result(), cell_state_in.like()
    _append(context, SEQUENCE, input, (output_state_in, cell_state_in), [out, cell], others)
    if len(context.call.results) == 1:
        return (out,)
    return out, step_of(context, out, others["time_major"]), cell


@lower(Op.BIDIRECTIONAL_SEQUENCE_LSTM)
def both_directions_lstm(
    context: LitertContext,
    input: Tensor,
    aux_input: Tensor | None,
    merge_outputs: bool,
    time_major: bool,
    **operands: Any,
) -> Sequence[Tensor]:
    _need_static_projection(context)

    def compute(prefix: str, x: Tensor) -> Sequence[Tensor]:
        own = {name.removeprefix(prefix): each for name, each in operands.items()} | {"time_major": time_major}
        hidden, state = own.pop("activation_state_in"), own.pop("cell_state_in")
        cell: Cell[Tensor] = cell_of(own)
        for gate, weights in cell.aux.items():
            own[operand_name("input", gate)] = context.concatenate([cell.input[gate], weights], 1)
        out, after = input.like(shape=(*input.shape[:2], hidden.shape[1])), state.like()
        context.operators.append(canonical.lstm_operator(SEQUENCE, x, (hidden, state), [out, after], own))
        return out, after

    forward: Cell[Tensor] = cell_of(operands, "fw_")
    return run_both(context, input, aux_input, bool(forward.aux), time_major, merge_outputs, compute)


def _append(
    context: LitertContext,
    kind: str,
    input: Tensor,
    states: Sequence[Tensor],
    outputs: list[Tensor],
    arguments: dict[str, Any],
) -> None:
    _need_static_projection(context)
    operator = canonical.lstm_operator(kind, input, states, outputs, arguments)
    context.operators.append(_use_quantized_weights(context, operator))


def _use_quantized_weights(context: LitertContext, operator: Operator) -> Operator:
    """Use permitted quantized weights if the cell is decomposed later; LiteRT's own supports one scale only."""
    positions = {name: index for index, name in enumerate(MATRICES, 1) if operator.inputs[index] is not None}
    quantized = {index: quantize_filter(context, name, 0) for name, index in positions.items()}
    if not is_plain(operator, state_is_read=True) or None in quantized.values():
        return operator
    return operator.like([quantized.get(index, x) for index, x in enumerate(operator.inputs)])


def _need_static_projection(context: LitertContext) -> None:
    weights = [name for name in context.call.operands if name.endswith("projection_weights")]
    require(
        not any(map(context.is_dynamic, weights)), "the projection may have more columns than the engine has memory for"
    )


@lower(Op.QUANTIZED_LSTM, Composite.QUANTIZED_LSTM_SEQUENCE)
def quantized_lstm(context: LitertContext, **arguments: Any) -> Sequence[Tensor]:
    """Lower an integer LSTM if LiteRT's 32-bit sums cannot overflow."""
    is_step = context.code == Op.QUANTIZED_LSTM
    results = (canonical.quantized_lstm if is_step else canonical.quantized_lstm_sequence)(context, **arguments)
    _need_exact_sums(context, **arguments)
    return results


def _need_exact_sums(
    context: LitertContext,
    input: Tensor,
    output_in: Tensor,
    cell_state_in: Tensor,
    hidden_state_scale: float,
    **others: Any,
) -> None:
    cell: Cell[Tensor] = cell_of(others)
    _need_static_projection(context)
    canonical.check_projection(cell.projection)
    for gate, scale in gate_scales(others).items():
        _need_exact(context, cell, gate, input, output_in, scale)
        _need_exact_state(cell, gate, cell_state_in, scale)
    _need_held("the hidden state", 2.0**30, 2.0**-30 / hidden_state_scale)
    if cell.projection is not None:
        most = _largest(cell.projection, cell.projection_bias)
        _need_held("the projection", most, hidden_state_scale * cell.projection.unit / output_in.unit)


def _need_exact(context: LitertContext, cell: Cell[Tensor], gate: str, x: Tensor, h: Tensor, scale: float) -> None:
    """Refuse a gate whose sums may exceed 32 bits, before or after scaling."""
    for weights, source in ((cell.input.get(gate), x), (cell.recurrent.get(gate), h)):
        if weights is None:
            continue
        largest = context.find(_largest, weights, cell.bias[gate])
        _need_held(f"sums of the {gate} gate", largest, source.unit * weights.unit / scale)


def _need_held(what: str, largest: float, factor: float) -> None:
    """Refuse integers up to ``largest`` that may exceed 32 bits, shifted for scaling by ``factor``."""
    require(largest * 2.0 ** max(0, math.frexp(factor)[1]) < LARGEST_SUM, f"{what} may overflow")


def _need_exact_state(cell: Cell[Tensor], gate: str, state: Tensor, scale: float) -> None:
    """Refuse a gate whose peephole may exceed 32 bits."""
    peephole = cell.peephole.get(gate)
    if peephole is not None:
        largest = 2.0**15 * float(np.abs(peephole.value.astype(np.float64)).max())
        _need_held(f"the peephole of the {gate} gate", largest, state.unit * peephole.unit / scale)


def _largest(weights: Tensor, bias: Tensor | None) -> float:
    """Return an upper bound of a row's sum of products with 8-bit values less a zero point."""
    rows = np.abs(weights.value.astype(np.float64)).sum(1) * 255
    return float((rows + (0 if bias is None else np.abs(bias.value.astype(np.float64)))).max())
