"""QUANTIZED_16BIT_LSTM."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from nnapi.errors import BadDataError, OpFailedError
from nnapi.model.operand import tensor
from nnapi.model.operation import REGISTRY
from tests.ops.recurrent_cases import quickly
from tests.single import run_single

GATES = ("input", "forget", "cell", "output")
ACTIVATION, WEIGHTS, STATE = (1 / 128, 128), (1 / 256, 100), (2.0**-11, 0)


def run(values: Any, quant: Any = None) -> list[Any]:
    """(cell_state_out, output) codes; ``quant`` changes scale and zero point of an input by name."""
    inputs = []
    for slot in REGISTRY[Op.QUANTIZED_16BIT_LSTM].inputs:
        array = np.asarray(values[slot.name])
        if "bias" in slot.name:
            name, default = "int32", (WEIGHTS[0] / 128, 0)
        elif slot.name == "cell_state_in":
            name, default = "quant16_symm", STATE
        else:
            name, default = "quant8_asymm", WEIGHTS if "weights" in slot.name else ACTIVATION
        inputs.append((tensor(name, array.shape, *(quant or {}).get(slot.name, default)), array))
    outputs = [tensor("quant16_symm", (), *STATE), tensor("quant8_asymm", (), *ACTIVATION)]
    return run_single(Op.QUANTIZED_16BIT_LSTM, inputs, outputs)


def constant_gates(input: Any, forget: Any, cell: Any, output: Any, state: Any) -> Any:
    """One unit whose gates before squashing are given numbers, through the biases alone."""
    gates = dict(zip(GATES, (input, forget, cell, output), strict=True))
    values = {"input": [[128]], "output_in": [[128]], "cell_state_in": [[round(state / STATE[0])]]}
    for gate, z in gates.items():
        values |= {f"input_to_{gate}_weights": [[100]], f"recurrent_to_{gate}_weights": [[100]]}
        values["cell_bias" if gate == "cell" else f"{gate}_gate_bias"] = [round(z / WEIGHTS[0] * 128)]
    return values


def test_literal() -> None:
    # 1/2 · 0 + 1/2 · 1.5 = 0.75, and 1/2 · tanh(0.75) = 0.3176 = 40.6 / 128
    c, h = run(constant_gates(0, 0, 0, 0, 1.5))
    assert c.tolist() == [[1536]]
    assert h.tolist() == [[128 + 41]]


def test_the_state_saturates() -> None:
    c, h = run(constant_gates(7.9, 7.9, 7.9, 7.9, 15.99))
    assert c.tolist() == [[32767]]
    assert h.tolist() == [[255]]


@quickly
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32))
def test_near_the_real_cell(batch: Any, input_size: Any, units: Any, seed: Any) -> None:
    random = np.random.default_rng(seed)
    codes = lambda *shape: random.integers(0, 256, shape)  # noqa: E731
    values = {"input": codes(batch, input_size), "output_in": codes(batch, units)}
    values["cell_state_in"] = random.integers(-6000, 6000, (batch, units))  # type: ignore[assignment]
    both = np.hstack([values["input"], values["output_in"]])
    squashed = {}
    for gate in GATES:
        w, r = codes(units, input_size), codes(units, units)
        bias = random.integers(-40_000, 40_000, units)
        name = "cell_bias" if gate == "cell" else f"{gate}_gate_bias"
        values |= {f"input_to_{gate}_weights": w, f"recurrent_to_{gate}_weights": r, name: bias}
        # columns of recurrent, then input weights, against input, then output_in: as the published examples have it
        columns = np.hstack([r, w])
        z = (both - 128) / 128 @ ((columns - WEIGHTS[1]) * WEIGHTS[0]).T + bias * WEIGHTS[0] / 128
        squashed[gate] = np.tanh(z) if gate == "cell" else 1 / (1 + np.exp(-z))
    state = squashed["forget"] * values["cell_state_in"] * STATE[0] + squashed["input"] * squashed["cell"]
    c, h = run(values)
    assert np.abs(c - np.clip(state / STATE[0], -32768, 32767)).max() <= 8
    assert np.abs(h - (128 + 128 * squashed["output"] * np.tanh(state))).max() <= 1.5


@pytest.mark.parametrize(
    ("quant", "message"),
    [
        ({"input": (1 / 64, 128)}, "input has scale 0.015625 and zero point 128, must have 0.0078125 and 128"),
        ({"output_in": (1 / 128, 0)}, "output_in has scale 0.0078125 and zero point 0, must have 0.0078125 and 128"),
        ({"cell_state_in": (2.0**-12, 0)}, "cell_state_in has scale 0.000244141, must have 2^-11"),
        (
            {"recurrent_to_cell_weights": (1 / 256, 99)},
            "recurrent_to_cell_weights has scale 0.00390625 and zero point 99, must have 0.00390625 and 100",
        ),
        ({"cell_bias": (1.0, 0)}, "cell_bias has scale 1 and zero point 0, must have 3.05176e-05 and 0"),
    ],
)
def test_refuses_other_quantization(quant: Any, message: str) -> None:
    with pytest.raises(OpFailedError, match=re.escape(message)):
        run(constant_gates(0, 0, 0, 0, 0), quant)


def test_refuses_other_shapes() -> None:
    values = constant_gates(0, 0, 0, 0, 0)
    with pytest.raises(OpFailedError, match=re.escape("cell_bias has shape [2], must be [1]")):
        run(values | {"cell_bias": [0, 0]})
    with pytest.raises(BadDataError, match="takes 15 inputs, got 14"):
        run_single(
            Op.QUANTIZED_16BIT_LSTM,
            [(tensor("quant8_asymm", (1, 1), *ACTIVATION), [[0]])] * 14,
            [tensor("quant16_symm", (), *STATE), tensor("quant8_asymm", (), *ACTIVATION)],
        )
