"""Models of one composite cell over a sequence, with random weights."""

from typing import Any

import numpy as np

import nnapi
from nnapi.model.operand import Array, tensor
from nnapi.operation_codes import CompositeCode

GATES = {"gru": 3, "rnn_sequence": 1, "lstm_sequence": 4}
CODES = {
    "gru": CompositeCode.GRU,
    "rnn_sequence": CompositeCode.RNN_SEQUENCE,
    "lstm_sequence": CompositeCode.LSTM_SEQUENCE,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "gru": {"gate_activation": 6, "activation": 4, "linear_before_reset": False},
    "rnn_sequence": {"activation": 4},
    "lstm_sequence": {"gate_activation": 6, "cell_activation": 4, "hidden_activation": 4, "input_forget": False},
}
VARIANTS: list[dict[str, Any]] = [
    {},
    {"reverse": True},
    {"time_major": False},
    {"clip": 0.4, "reverse": True, "time_major": False},
    {"lengths": [2, 90, 0]},
    {"lengths": "computed", "reverse": True},
    {"computed_weights": True},
]
"""Changes of a cell's arguments that every kind takes."""
OWN_VARIANTS: dict[str, list[dict[str, Any]]] = {
    "gru": [{"linear_before_reset": True}, {"gate_activation": 4, "activation": 6}],
    "rnn_sequence": [{"activation": 1}, {"activation": 0}],
    "lstm_sequence": [{"peepholes": True}, {"input_forget": True, "cell_activation": 6, "hidden_activation": 1}],
}
CASES = [(kind, variant) for kind in GATES for variant in VARIANTS + OWN_VARIANTS[kind]]


def draw_operands(kind: str, batch: int, size: int, units: int, random: np.random.Generator) -> dict[str, Array]:
    """All weights and states of a cell, by name."""
    gates = GATES[kind]
    shapes: dict[str, tuple[int, ...]] = {
        "weights": (gates * units, size),
        "recurrent_weights": (gates * units, units),
        "bias": (gates * units,),
    }
    if kind == "gru":
        shapes["recurrent_bias"] = (gates * units,)
    shapes["hidden_in"] = (batch, units)
    if kind == "lstm_sequence":
        shapes |= {"peepholes": (3 * units,), "cell_state_in": (batch, units)}
    return {name: random.uniform(-0.7, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}


def make_model(
    kind: str,
    steps: int,
    batch: int = 3,
    size: int = 5,
    units: int = 4,
    *,
    time_major: bool = True,
    reverse: bool = False,
    clip: float = 0.0,
    lengths: Any = None,
    peepholes: bool = False,
    computed_weights: bool = False,
    **options: Any,
) -> tuple[nnapi.Model, list[Array]]:
    """Return the model, and inputs for it. Lengths may be "computed"."""
    b, random = nnapi.Builder(), np.random.default_rng(steps + batch)
    x = random.uniform(-1, 1, (steps, batch, size) if time_major else (batch, steps, size)).astype(np.float32)
    given, inputs = [x], [b.input(tensor("float32", x.shape), "x")]

    def make_input(array: Array) -> Any:
        given.append(array)
        inputs.append(b.input(nnapi.tensor(str(array.dtype), array.shape)))
        return inputs[-1]

    operands: dict[str, Any] = dict(draw_operands(kind, batch, size, units, random))
    if kind == "lstm_sequence" and not peepholes:
        operands["peepholes"] = None
    if computed_weights:
        operands |= {name: make_input(operands[name]) for name in ("weights", "recurrent_weights", "hidden_in")}
    if isinstance(lengths, str):
        lengths = make_input(np.resize(np.array([steps - 1, 1000, -1], np.int32), batch))
    elif lengths is not None:
        lengths = np.array(lengths, np.int32)
    scalars = OPTIONS[kind] | options | {"clip": clip, "reverse": reverse, "time_major": time_major}
    made = getattr(b, kind)(inputs[0], **operands, sequence_lengths=lengths, **scalars)
    b.output(*made)
    return b.finish(), given
