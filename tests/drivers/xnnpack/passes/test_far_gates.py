"""LSTM cells in real numbers whose gates see sums far beyond what LOGISTIC tells apart: never NaN."""

from typing import Any

import numpy as np
import pytest

from nnapi import load
from nnapi.codes import OperationCode as Op
from nnapi.model.operand import tensor
from nnapi.testing.compare import SINGLE, compare
from tests.drivers.xnnpack.cell_cases import BATCH, SIZE, UNITS, features, inputs_of, reals, shapes
from tests.drivers.xnnpack.engine_cases import both
from tests.rows import each_row
from tests.single import single

RELU, RELU6, TANH = 1, 3, 4
STEPS = 3


def cell(values: Any, activation: int) -> Any:
    """A model of a sequence: the input computed, all else constant."""
    values = values | {"activation": activation, "cell_clip": 0.0, "proj_clip": 0.0, "time_major": True}
    given = inputs_of(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, values)
    return single(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, given, [tensor("float32", (STEPS, BATCH, UNITS))], constant=True)


def numbers(seed: int = 1) -> Any:
    random = np.random.default_rng(seed)
    values = reals(shapes(features()), random)
    values["input"] = random.uniform(-1, 1, (STEPS, BATCH, SIZE)).astype(np.float32)
    values["output_state_in"] = values["cell_state_in"] = np.zeros((BATCH, UNITS), np.float32)
    return values


@each_row("factor", [1.0, 1e4, 1e20, 1e27, 1e30, -1e33])
@each_row("activation", [RELU, RELU6, TANH])
def test_inputs_far_out(activation: int, factor: float) -> None:
    values = numbers()
    values["input"] *= np.float32(factor)
    model = cell(values, activation)
    (ours,), (theirs,) = both(model, values["input"])
    assert np.isfinite(theirs).all()
    np.testing.assert_allclose(ours, theirs, 1e-4, 1e-5)  # RELU leaves numbers large, and a sum depends on its order


@pytest.mark.parametrize("name", ["input_to_input_weights", "recurrent_to_forget_weights", "output_gate_bias"])
@pytest.mark.parametrize("activation", [RELU6, TANH])
def test_one_large_weight(name: str, activation: int) -> None:
    values = numbers()
    values[name].flat[1] = 3e38
    (ours,), (theirs,) = both(cell(values, activation), values["input"])
    assert np.isfinite(theirs).all()
    assert compare(ours, theirs, SINGLE) is None


@pytest.mark.parametrize("state", [1e10, -1e30])
def test_a_large_state_that_the_input_makes_up_for(state: float) -> None:
    """The omitted term must be the sum of both."""
    values = numbers()
    values["output_state_in"] = np.full((BATCH, UNITS), state, np.float32)
    values["input"][0] = -state
    (ours,), (theirs,) = both(cell(values, TANH), values["input"])
    assert compare(ours, theirs, SINGLE) is None


@pytest.mark.shared
@pytest.mark.parametrize("factor", [1.0, 1e27, 1e30, -1e30])
def test_a_model_of_digits(shared: Any, factor: float) -> None:
    path = shared / "models" / "tflm_mnist_lstm_float.tflite"
    if not path.exists():
        pytest.skip(f"the reference material has no {path.name}")
    model = load(path)
    shape = model.operands[model.inputs[0]].type.dimensions
    image = np.random.default_rng(0).uniform(0, 1, shape).astype(np.float32) * np.float32(factor)
    (ours,), (theirs,) = both(model, image)
    assert compare(ours, theirs, SINGLE) is None
