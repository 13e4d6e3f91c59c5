"""LSTM cells without peepholes, projection and normalization: for XNNPACK, these are decomposed."""

import numpy as np

from nnapi.formats.tflite.graph import Operator

STEP, SEQUENCE = "LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"
WEIGHTS, RECURRENT, BIASES, HIDDEN, MEMORY = range(1, 5), range(5, 9), range(12, 16), 18, 19
"""Indices of the operator's inputs."""
OTHERS = (9, 10, 11, 16, 17, 20, 21, 22, 23)
"""Indices of inputs that a decomposed cell must not have: peepholes, projection, normalization."""
MOST_STEPS = 64
"""Maximum number of unrolled steps, as each one takes preparation time."""
SMALLEST_SCALE = 1 / 256
"""Minimum scale of an integer output. With a smaller one, the omitted roundings could exceed 1 LSB."""


def is_plain(operator: Operator, state_is_read: bool, rounds_states: bool = False) -> bool:
    """Whether a cell is decomposed; ``rounds_states`` permits quantized states that differ by more than 1 LSB."""
    inputs = operator.inputs
    if any(inputs[i] is not None for i in OTHERS if i < len(inputs)) or count_steps(operator) > MOST_STEPS:
        return False
    constants = [inputs[i] for i in (*WEIGHTS, *RECURRENT, *BIASES)]
    if any(tensor is not None and tensor.data is None for tensor in constants):
        return False
    if operator.outputs[0].type == "f32":
        return True
    out, hidden = operator.output, operator.intermediates[4]
    is_stored_alike = np.float32(hidden.unit) == np.float32(out.unit) and hidden.zero_point == out.zero_point
    is_private = rounds_states or (operator.input(MEMORY).data is not None and not state_is_read)
    return is_private and is_stored_alike and out.unit >= SMALLEST_SCALE


def count_steps(operator: Operator) -> int:
    return 1 if operator.kind == STEP else operator.input(0).shape[0 if operator.options["time_major"] else 1]
