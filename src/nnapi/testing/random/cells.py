"""Proposals for recurrent operations: weights and states of one size."""

from __future__ import annotations

from nnapi.model.operand import Shape
from nnapi.testing.random.fitting import Draw, Fit, fits


@fits("SVDF")
def filters(draw: Draw) -> Fit:
    batch, size = draw.given(2) or (draw.extent(7), draw.extent(64))
    units, memory, rank = draw.extent(33), draw.extent(17), draw.pick(1, 1, 2, 3)
    shapes: dict[str, Shape] = {
        "input": (batch, size),
        "weights_feature": (units * rank, size),
        "weights_time": (units * rank, memory),
        "bias": (units,),
        "state_in": (batch, memory * units * rank),
    }
    return Fit(shapes, {"rank": rank})


GATED = ("input", "forget", "cell", "output")


@fits("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", "QUANTIZED_LSTM", "QUANTIZED_16BIT_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM")
def gated(draw: Draw) -> Fit:
    """A cell, or one for each direction; what is omitted is omitted for all gates together."""
    sequence = "time_major" in draw.names
    scalars = {"time_major": draw.upto(1)} if sequence else {}
    input = draw.given(2 + sequence) or (*(draw.extent(7) for _ in range(1 + sequence)), draw.extent(33))
    fit = Fit({"input": input}, scalars)
    batch = input[1 if scalars.get("time_major") else 0]
    for prefix in ("fw_", "bw_") if "fw_cell_bias" in draw.names else ("",):
        _cell(draw, fit, prefix, batch, input[-1])
    if "aux_input" in draw.names and draw.chance(0.5):
        fit.omitted |= {name for name in draw.names if "aux_input" in name}
    fit.shapes["aux_input"] = (*input[:-1], aux := draw.extent(17))
    for name in draw.names:
        if "aux_input_to" in name:
            fit.shapes[name] = (fit.shapes[f"{name[:3]}cell_bias"][0], aux)
    return fit


def _cell(draw: Draw, fit: Fit, prefix: str, batch: int, size: int) -> None:
    """Weights and states of one direction."""
    units = draw.extent(33)
    projects = draw.names >= {f"{prefix}projection_weights"} and draw.chance(0.3)
    outputs = draw.extent(17) if projects else units
    if not projects:
        fit.omitted |= {f"{prefix}projection_weights", f"{prefix}projection_bias"}
    shapes = {"projection_weights": (outputs, units), "projection_bias": (outputs,), "cell_state_in": (batch, units)}
    shapes |= dict.fromkeys(("output_state_in", "activation_state_in", "output_in"), (batch, outputs))
    for gate in GATED:
        shapes |= {f"input_to_{gate}_weights": (units, size), f"recurrent_to_{gate}_weights": (units, outputs)}
        shapes |= dict.fromkeys((f"cell_to_{gate}_weights", f"{gate}_layer_norm_weights"), (units,))
        shapes |= {"cell_bias" if gate == "cell" else f"{gate}_gate_bias": (units,)}
    fit.shapes |= {prefix + name: shape for name, shape in shapes.items()}
    coupled = "input_to_input_weights" in draw.names - draw.required and draw.chance(0.3)
    for part, probability in (("cell_to_{}_weights", 0.5), ("{}_layer_norm_weights", 0.6)):
        gone = draw.chance(probability)
        fit.omitted |= {prefix + part.format(gate) for gate in GATED if gone or (coupled and gate == "input")}
    if coupled:
        whole = (
            "input_to_input_weights",
            "recurrent_to_input_weights",
            "input_gate_bias",
            "aux_input_to_input_weights",
        )
        fit.omitted |= {prefix + name for name in whole}
    fit.present |= {prefix + name for name in shapes} - fit.omitted


@fits("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def recurrent(draw: Draw) -> Fit:
    sequence = "time_major" in draw.names
    scalars = {"time_major": draw.upto(1)} if sequence else {}
    input = draw.given(2 + sequence) or (*(draw.extent(7) for _ in range(1 + sequence)), draw.extent(33))
    batch, size, units = input[1 if scalars.get("time_major") else 0], input[-1], draw.extent(33)
    shapes: dict[str, Shape] = {
        "input": input,
        "weights": (units, size),
        "recurrent_weights": (units, units),
        "bias": (units,),
        "hidden_in": (batch, units),
    }
    return Fit(shapes, scalars)
