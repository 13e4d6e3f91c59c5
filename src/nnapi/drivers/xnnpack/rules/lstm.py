"""Long short-term memories: the engine's own cells, one step or along time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.lowering import Unsupported, require
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.drivers.xnnpack.rules.directions import both_outputs, join, link, step_of
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.ops.lstm_cell import Options
from nnapi.ops.lstm_parameters import GATES, SQUASHED, Cell, cell_of, operand_name

Arguments = dict[str, Tensor | None]
TANH = 4
SQUASHING = (1, 3, TANH)
"""Activations that the engine computes: it leaves the output as it was where there is none, and knows no LOGISTIC."""
GATE_SCALE = 2.0**-12
"""Of a gate in integers before it is squashed."""
LARGEST_SUM = 2.0**31
"""Beyond which the engine's 32-bit sums overflow."""


@lower(Op.LSTM)
def lstm(
    context: Context,
    input: Tensor,
    output_state_in: Tensor,
    cell_state_in: Tensor,
    activation: int,
    cell_clip: float,
    proj_clip: float,
    **operands: Tensor | None,
) -> Sequence[Tensor]:
    """The scratch buffer, of which nothing is promised, comes out as zeros."""
    scratch, hidden, cell = (context.result(position) for position in range(3))
    zeros = constant(np.zeros(scratch.shape), "f32")
    context.emit("ZEROS_LIKE", [zeros], scratch)
    inputs = [*_cell_inputs(context, input, operands), output_state_in, cell_state_in, *_norms(operands)]
    options = _options(Options(activation, cell_clip, proj_clip))
    context.operators.append(Operator("LSTM", inputs, [hidden, cell], options))
    return scratch, hidden, cell, hidden


@lower(Op.UNIDIRECTIONAL_SEQUENCE_LSTM)
def sequence_lstm(
    context: Context,
    input: Tensor,
    output_state_in: Tensor,
    cell_state_in: Tensor,
    activation: int,
    cell_clip: float,
    proj_clip: float,
    time_major: bool,
    **operands: Tensor | None,
) -> Sequence[Tensor]:
    out, cell = context.result(), cell_state_in.like()
    inputs = [*_cell_inputs(context, input, operands), output_state_in, cell_state_in, *_norms(operands)]
    options = {**_options(Options(activation, cell_clip, proj_clip)), "time_major": time_major}
    context.operators.append(Operator("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [out, cell], options))
    if len(context.call.results) == 1:
        return (out,)
    return out, step_of(context, out, time_major), cell


@lower(Op.BIDIRECTIONAL_SEQUENCE_LSTM)
def both_directions_lstm(
    context: Context,
    input: Tensor,
    aux_input: Tensor | None,
    activation: int,
    cell_clip: float,
    proj_clip: float,
    merge_outputs: bool,
    time_major: bool,
    fw_activation_state_in: Tensor,
    fw_cell_state_in: Tensor,
    bw_activation_state_in: Tensor,
    bw_cell_state_in: Tensor,
    **operands: Tensor | None,
) -> Sequence[Tensor]:
    options = {**_options(Options(activation, cell_clip, proj_clip)), "time_major": time_major}
    ways = (("fw", fw_activation_state_in, fw_cell_state_in), ("bw", bw_activation_state_in, bw_cell_state_in))
    cells: list[Cell[Tensor]] = [cell_of(operands, prefix) for prefix in ("fw_", "bw_")]
    inputs = link(context, input, aux_input, bool(cells[0].aux), time_major)
    outputs, states = [], []
    for (way, hidden, state), cell, x in zip(ways, cells, inputs, strict=True):
        own = {name.removeprefix(f"{way}_"): operand for name, operand in operands.items()}
        for gate, weights in cell.aux.items():
            own[operand_name("input", gate)] = join(context, [cell.input[gate], weights], 1)
        out, after = input.like(shape=(*input.shape[:2], hidden.shape[1])), state.like()
        known = [*_cell_inputs(context, x, own), hidden, state, *_norms(own)]
        context.operators.append(Operator("UNIDIRECTIONAL_SEQUENCE_LSTM", known, [out, after], options))
        outputs.append(out)
        states += [step_of(context, out, time_major), after]
    results = both_outputs(context, outputs, merge_outputs, time_major)
    return results if len(context.call.results) == len(results) else [*results, *states]


def _cell_inputs(context: Context, input: Tensor, operands: Arguments) -> list[Tensor | None]:
    """Input, weights, peepholes, biases and projection, in the engine's order, which is the operation's."""
    names = [operand_name(role, gate) for role in ("input", "recurrent") for gate in GATES]
    names += [operand_name("peephole", gate) for gate in SQUASHED] + [operand_name("bias", gate) for gate in GATES]
    names += ["projection_weights", "projection_bias"]
    if operands.get(operand_name("input", "input")) is None:
        operands = {**operands, operand_name("peephole", "input"): None}  # of no use, and not taken
    _need_room(context, operands["projection_weights"])
    return [input, *(operands[name] for name in names)]


def _need_room(context: Context, projection: Tensor | None) -> None:
    """Refuse a projection to more outputs than there are cells: the engine adds them up in a buffer for as many."""
    weights = [name for name in context.call.operands if name.endswith("projection_weights")]
    require(not any(map(context.is_open, weights)), "the projection may come wider than the engine keeps room for")
    if projection is not None:
        outputs, cells = projection.shape
        require(
            outputs <= cells, f"{cells} cells are projected to {outputs} outputs, more than the engine keeps room for"
        )


def _norms(operands: Arguments) -> list[Tensor | None]:
    return [operands.get(operand_name("norm", gate)) for gate in GATES]


def _options(options: Options) -> dict[str, Any]:
    require(
        options.activation in SQUASHING,
        f"activation is {options.activation}, the engine's LSTM computes 1 (RELU), 3 (RELU6) and 4 (TANH)",
    )
    return {
        "activation": options.activation,
        "cell_clip": float(options.cell_clip),
        "proj_clip": float(options.proj_clip),
    }


@lower(Op.QUANTIZED_LSTM)
def quantized_lstm(
    context: Context,
    input: Tensor,
    output_in: Tensor,
    cell_state_in: Tensor,
    cell_clip: float | None,
    proj_clip: float | None,
    hidden_state_zero_point: int,
    hidden_state_scale: float,
    **operands: Any,
) -> Sequence[Tensor]:
    """The engine's integers are the operation's."""
    cell: Cell[Tensor] = cell_of(operands)
    require(not proj_clip, f"proj_clip is {proj_clip}: the engine clips codes of the projection, not its numbers")
    require(
        not (cell.peephole and cell.projection),
        "the engine's integers are wrong where a cell has peepholes and a projection",
    )
    hidden, state, output = (context.result(position) for position in range(3))
    require(
        hidden.same_codes(output),
        "output_state_out and output differ in scale or zero point: the engine has one result for both",
    )
    scales = [operands[f"{gate}_intermediate_scale"] if cell.norm else GATE_SCALE for gate in GATES]
    for gate, scale in zip(GATES, scales, strict=True):
        _need_exact(context, cell, gate, input, output_in, scale)
    inputs = [*_cell_inputs(context, input, operands), output_in, cell_state_in, *_norms(operands)]
    require(all(t is None or t.data is not None for t in inputs[1:18] + inputs[20:]), "weights are computed")
    intermediates = [Tensor("i16", (1,), float(scale or GATE_SCALE)) for scale in scales]
    intermediates.append(Tensor("i8", (1,), float(hidden_state_scale), hidden_state_zero_point))
    options = _options(Options(TANH, cell_clip or 0.0, 0.0))
    context.operators.append(Operator("LSTM", inputs, [hidden, state], options, intermediates))
    return hidden, state, hidden


def _need_exact(context: Context, cell: Cell[Tensor], gate: str, x: Tensor, h: Tensor, scale: float) -> None:
    """Refuse sums that the engine's 32 bits may not hold, before and after they are scaled."""
    for weights, source in ((cell.input.get(gate), x), (cell.recurrent.get(gate), h)):
        if weights is None:
            continue
        bias = cell.bias[gate]
        if weights.data is None:
            raise Unsupported(f"weights of the {gate} gate are computed, the engine needs them constant")
        if bias.data is None:
            raise Unsupported(f"bias of the {gate} gate is computed, the engine needs it constant")
        factor = source.unit * weights.unit / scale
        shift = max(0, math.frexp(factor)[1])
        if not context.find(_largest, weights, bias) * 2.0**shift < LARGEST_SUM:
            raise Unsupported(f"sums of the {gate} gate may overflow")


def _largest(weights: Tensor, bias: Tensor) -> float:
    """An upper bound of the magnitude of a row's sum over codes of 8 bits less a zero point."""
    rows = np.abs(weights.value.astype(np.float64)).sum(1) * 255
    return float((rows + np.abs(bias.value.astype(np.float64))).max())
