"""Cells that TFLite has itself: they keep their state in variables, which every run begins with the states given.

They are written as functions here, whose new states follow the output; ``state_variables`` makes variables of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnapi.codes import OperationCode as Op
from nnapi.drivers.lowering import require
from nnapi.exporters import cells
from nnapi.exporters.tflite.context import RULES, Context, lower
from nnapi.formats.tflite.graph import Operator, Tensor
from nnapi.ops.lstm_parameters import GATES, SQUASHED, operand_name

TANH = 4
ACTIVATIONS = (1, 3, TANH)
"""Those of an LSTM that TFLite's computes, in its numbers."""
GATE_SCALE = 2.0**-12
"""Of a gate in integers before it is squashed."""

cells.register(RULES)


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
    """One operator, unless the model asks for the last states, which TFLite does not give."""
    projection = operands["projection_weights"]
    has_room = projection is None or projection.shape[0] <= projection.shape[1]  # TFLite's scratch is for the cells
    if len(context.call.results) > 1 or activation not in ACTIVATIONS or not has_room:
        states = {"output_state_in": output_state_in, "cell_state_in": cell_state_in}
        numbers = {"activation": activation, "cell_clip": cell_clip, "proj_clip": proj_clip, "time_major": time_major}
        written: Sequence[Tensor] = cells.sequence_lstm(context, input, **states, **numbers, **operands)  # type: ignore[arg-type]
        return written
    inputs = [input, *_learnt(operands), output_state_in, cell_state_in, *_norms(operands)]
    options = {
        "activation": activation,
        "cell_clip": float(cell_clip),
        "proj_clip": float(proj_clip),
        "time_major": bool(time_major),
    }
    out = context.result()
    context.operators.append(Operator("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [out, cell_state_in.like()], options))
    return (out,)


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
    """One step in integers, which are TFLite's too."""
    hidden, state, output = (context.result(position) for position in range(3))
    norms, learnt = _norms(operands), _learnt(operands)
    has_peephole = any(operands[operand_name("peephole", gate)] is not None for gate in SQUASHED)
    require(not proj_clip, "TFLite clips codes of the projection, not its numbers")
    require(
        not (has_peephole and operands["projection_weights"] is not None),
        "TFLite's integers are wrong where a cell has peepholes and a projection",
    )
    require(hidden.same_codes(output), "TFLite has one result for output_state_out and output, which differ in scale")
    require(all(each is None or each.is_constant for each in (*learnt, *norms)), "its weights are computed")
    scales = [operands[f"{gate}_intermediate_scale"] if any(norms) else GATE_SCALE for gate in GATES]
    intermediates = [Tensor("i16", (1,), float(scale or GATE_SCALE)) for scale in scales]
    intermediates.append(Tensor("i8", (1,), float(hidden_state_scale), hidden_state_zero_point))
    inputs = [input, *learnt, output_in, cell_state_in, *norms]
    options = {"activation": TANH, "cell_clip": float(cell_clip or 0), "proj_clip": 0.0}
    context.operators.append(Operator("LSTM", inputs, [hidden, state], options, intermediates))
    return hidden, state, hidden


def _learnt(operands: dict[str, Tensor | None]) -> list[Tensor | None]:
    """Weights, peepholes, biases and projection, in TFLite's order, which is the operation's."""
    names = [operand_name(role, gate) for role in ("input", "recurrent") for gate in GATES]
    names += [operand_name("peephole", gate) for gate in SQUASHED] + [operand_name("bias", gate) for gate in GATES]
    if operands[operand_name("input", "input")] is None:
        operands = {**operands, operand_name("peephole", "input"): None}  # of no use, and not taken
    return [operands[name] for name in (*names, "projection_weights", "projection_bias")]


def _norms(operands: dict[str, Tensor | None]) -> list[Tensor | None]:
    return [operands.get(operand_name("norm", gate)) for gate in GATES]
