"""Proposals that recurrent operations share: weights and states of matching sizes."""

from nnapi.model.operand import Shape
from nnapi.model.proposal import Draw, Proposal

GATED = ("input", "forget", "cell", "output")
INPUT_GATE = ("input_to_input_weights", "recurrent_to_input_weights", "input_gate_bias", "aux_input_to_input_weights")
"""The operands that a cell with coupled input and forget gates omits."""


def propose_lstm(draw: Draw) -> Proposal:
    """Propose an LSTM cell, or one for each direction; optional weights are omitted for all gates together."""
    input, batch = propose_input(draw)
    proposal = draw.proposal
    for prefix in ("fw_", "bw_") if "fw_cell_bias" in draw.names else ("",):
        _cell(draw, prefix, batch, input[-1])
    proposal.shapes["aux_input"] = (*input[:-1], aux := draw.dimension(17))
    for name in draw.names:
        if "aux_input_to" in name:
            proposal.shapes[name] = (proposal.shapes[f"{name[:3]}cell_bias"][0], aux)
    propose_all_or_none(draw, {name for name in draw.names if "aux_input" in name} - proposal.omitted)
    return proposal


def propose_input(draw: Draw) -> tuple[Shape, int]:
    """Propose the input and the order of its axes; return its dimensions and the batch size."""
    sequence = "time_major" in draw.names
    scalars = draw.proposal.scalars = {"time_major": draw.upto(1)} if sequence else {}
    input = draw.need_rank(2 + sequence) or (*(draw.dimension(7) for _ in range(1 + sequence)), draw.dimension(33))
    draw.proposal.shapes["input"] = input
    return input, input[1 if scalars.get("time_major") else 0]


def _cell(draw: Draw, prefix: str, batch: int, size: int) -> None:
    proposal = draw.proposal
    units = draw.dimension(33)
    projects = draw.names >= {f"{prefix}projection_weights"} and draw.chance(0.3)
    outputs = draw.dimension(17) if projects else units
    if not projects:
        proposal.omitted |= {f"{prefix}projection_weights", f"{prefix}projection_bias"}
    shapes = {"projection_weights": (outputs, units), "projection_bias": (outputs,), "cell_state_in": (batch, units)}
    shapes |= dict.fromkeys(("output_state_in", "activation_state_in", "output_in"), (batch, outputs))
    for gate in GATED:
        shapes |= {f"input_to_{gate}_weights": (units, size), f"recurrent_to_{gate}_weights": (units, outputs)}
        shapes |= dict.fromkeys((f"cell_to_{gate}_weights", f"{gate}_layer_norm_weights"), (units,))
        shapes |= {"cell_bias" if gate == "cell" else f"{gate}_gate_bias": (units,)}
    proposal.shapes |= {prefix + name: shape for name, shape in shapes.items()}
    coupled = "input_to_input_weights" in draw.names - draw.required and draw.chance(0.3)
    for part, probability in (("cell_to_{}_weights", 0.5), ("{}_layer_norm_weights", 0.6)):
        gone = draw.chance(probability)
        proposal.omitted |= {prefix + part.format(gate) for gate in GATED if gone or (coupled and gate == "input")}
    if coupled:
        proposal.omitted |= {prefix + name for name in INPUT_GATE}
    proposal.present |= {prefix + name for name in shapes} - proposal.omitted


def propose_all_or_none(draw: Draw, names: set[str]) -> None:
    if draw.chance(0.5):
        draw.proposal.omitted |= names
    else:
        draw.proposal.present |= names
