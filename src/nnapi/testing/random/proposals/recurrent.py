"""Proposals for recurrent operations: weights and states of matching sizes."""

from nnapi.model.operand import Shape
from nnapi.testing.random.proposals.proposal import Draw, Proposal, proposes


@proposes("SVDF")
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


GATED = ("input", "forget", "cell", "output")
INPUT_GATE = ("input_to_input_weights", "recurrent_to_input_weights", "input_gate_bias", "aux_input_to_input_weights")
"""The operands that a cell with coupled input and forget gates omits."""


@proposes("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM")
def propose_lstm(draw: Draw) -> Proposal:
    """Propose an LSTM cell, or one for each direction; optional weights are omitted for all gates together."""
    input, batch = _propose_input(draw)
    proposal = draw.proposal
    for prefix in ("fw_", "bw_") if "fw_cell_bias" in draw.names else ("",):
        _cell(draw, prefix, batch, input[-1])
    proposal.shapes["aux_input"] = (*input[:-1], aux := draw.dimension(17))
    for name in draw.names:
        if "aux_input_to" in name:
            proposal.shapes[name] = (proposal.shapes[f"{name[:3]}cell_bias"][0], aux)
    _all_or_none(draw, {name for name in draw.names if "aux_input" in name} - proposal.omitted)
    return proposal


def _propose_input(draw: Draw) -> tuple[Shape, int]:
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


@proposes("QUANTIZED_16BIT_LSTM")
def propose_16bit_lstm(draw: Draw) -> Proposal:
    """Propose the scales that QUANTIZED_16BIT_LSTM supports; all weights share one scale."""
    proposal = propose_lstm(draw)
    weights = (draw.pick(1 / 128, 1 / 64, 0.0117), draw.upto(255))
    proposal.quantization = {name: weights for name in draw.names if name.endswith("_weights")}
    proposal.quantization |= {"input": (1 / 128, 128), "output_in": (1 / 128, 128), "cell_state_in": (2.0**-11, 0)}
    return proposal


@proposes("QUANTIZED_LSTM", "QUANTIZED_LSTM_SEQUENCE")
def propose_8bit_lstm(draw: Draw) -> Proposal:
    proposal = propose_lstm(draw)
    proposal.quantization["cell_state_in"] = (2.0 ** draw.pick(-15, -13, -11, -9), 0)
    return proposal


@proposes("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN")
def propose_rnn(draw: Draw) -> Proposal:
    input, batch = _propose_input(draw)
    proposal = draw.proposal
    aux = (*input[:-1], draw.dimension(17))
    for prefix in ("fw_", "bw_") if "fw_bias" in draw.names else ("",):
        units = draw.dimension(33)
        shapes: dict[str, Shape] = {"weights": (units, input[-1]), "recurrent_weights": (units, units)}
        shapes["aux_weights"] = (units, aux[-1])
        shapes |= {"bias": (units,), "hidden_in": (batch, units)}
        proposal.shapes |= {prefix + name: shape for name, shape in shapes.items()}
    proposal.shapes["aux_input"] = aux
    _all_or_none(draw, {name for name in draw.names if "aux" in name})
    return proposal


@proposes("GRU", "RNN_SEQUENCE", "LSTM_SEQUENCE")
def propose_sequence(draw: Draw) -> Proposal:
    """Propose a composite cell; lengths may be below 0 and above the number of steps."""
    input, batch = _propose_input(draw)
    gates, units = 4 if "peepholes" in draw.names else 3 if "recurrent_bias" in draw.names else 1, draw.dimension(33)
    shapes: dict[str, Shape] = {"weights": (gates * units, input[-1]), "recurrent_weights": (gates * units, units)}
    shapes |= dict.fromkeys(("bias", "recurrent_bias"), (gates * units,))
    shapes |= dict.fromkeys(("hidden_in", "cell_state_in"), (batch, units))
    shapes |= {"peepholes": (3 * units,), "sequence_lengths": (batch,)}
    draw.proposal.shapes |= shapes
    return draw.proposal


def _all_or_none(draw: Draw, names: set[str]) -> None:
    if draw.chance(0.5):
        draw.proposal.omitted |= names
    else:
        draw.proposal.present |= names
