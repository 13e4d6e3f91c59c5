"""Parts of the LSTM cell; the whole is tested with the operations."""

import math

import numpy as np
import pytest

from nnapi.ops.lstm_cell import ACTIVATIONS, clip, lstm_step, normalize
from nnapi.ops.lstm_parameters import Cell


def test_rows_are_normalized() -> None:
    rows = np.array([[1, 3], [10, 20], [7, 7]], np.float32)
    np.testing.assert_allclose(normalize(rows), [[-1, 1], [-1, 1], [0, 0]], rtol=1e-6)


def test_small_differences_are_not_blown_up() -> None:
    """A variance of 1e-8, as much as is added to it; results follow it without a step."""
    rows = np.array([[-1e-4, 1e-4], [-1e-6, 1e-6]], np.float32)
    np.testing.assert_allclose(normalize(rows), [[-(0.5**0.5), 0.5**0.5], [-1e-2, 1e-2]], rtol=1e-4)


def test_a_clip_of_zero_does_not_clip() -> None:
    x = np.array([-2, 0.5, 2], np.float32)
    np.testing.assert_array_equal(clip(x, 1.0), np.array([-1, 0.5, 1], np.float32))
    np.testing.assert_array_equal(clip(x, 0.0), x)


@pytest.mark.parametrize(
    ("code", "values"),
    [
        (0, [-2, -0.5, 0.5, 7]),
        (1, [0, 0, 0.5, 7]),
        (3, [0, 0, 0.5, 6]),
        (4, [math.tanh(x) for x in (-2, -0.5, 0.5, 7)]),
        (6, [1 / (1 + math.exp(-x)) for x in (-2, -0.5, 0.5, 7)]),
    ],
)
def test_the_activations_of_a_cell(code: int, values: list[float]) -> None:
    np.testing.assert_allclose(ACTIVATIONS[code](np.array([-2, -0.5, 0.5, 7])), values)
    assert set(ACTIVATIONS) == {0, 1, 3, 4, 6}


WEIGHTS = {"input": 0.5, "forget": -0.25, "cell": 0.75, "output": 1.5}
RECURRENT = {"input": -0.5, "forget": 1.0, "cell": 0.25, "output": -1.25}
BIAS = {"input": 0.1, "forget": -0.2, "cell": 0.3, "output": 0.4}
AUX = {"input": 0.6, "forget": 0.7, "cell": -0.8, "output": 0.9}
PEEPHOLE = {"input": 0.35, "forget": -0.45, "output": 0.55}


@pytest.mark.parametrize("coupled", [False, True], ids=["", "coupled"])
@pytest.mark.parametrize("extra", ["", "aux", "peephole", "projection", "projection and bias", "clips"])
def test_one_step_of_one_unit(extra: str, coupled: bool) -> None:
    """The formula in plain numbers."""
    gates = [gate for gate in WEIGHTS if not (coupled and gate == "input")]

    def each(values: dict[str, float], *dimensions: int) -> dict[str, np.ndarray]:
        return {gate: np.full(dimensions, values[gate]) for gate in gates if gate in values}

    cell = Cell(
        each(WEIGHTS, 1, 1),
        each(RECURRENT, 1, 1),
        each(AUX, 1, 1) if extra == "aux" else {},
        each(PEEPHOLE, 1) if extra == "peephole" else {},
        {},
        each(BIAS, 1),
        np.full((1, 1), 2.0) if extra.startswith("projection") else None,
        np.full(1, 0.125) if extra.endswith("bias") else None,
        activation=4,
        cell_clip=0.7 if extra == "clips" else 0.0,
        proj_clip=0.2 if extra == "projection" else 0.0,
    )
    x, h, c, a = 0.7, -0.3, 1.9, 0.2
    given_x, given_a, given_h, given_c = (np.full((1, 1), value) for value in (x, a, h, c))
    aux = given_a if extra == "aux" else None
    found_h, found_c = lstm_step(cell, given_x, aux, given_h, given_c)

    def z(gate: str, state: float) -> float:
        more = AUX[gate] * a if extra == "aux" else PEEPHOLE.get(gate, 0) * state if extra == "peephole" else 0
        return WEIGHTS[gate] * x + RECURRENT[gate] * h + BIAS[gate] + more

    def squash(value: float) -> float:
        return 1 / (1 + math.exp(-value))

    forget = squash(z("forget", c))
    new_c = forget * c + (1 - forget if coupled else squash(z("input", c))) * math.tanh(z("cell", c))
    new_c = min(new_c, 0.7) if extra == "clips" else new_c
    new_h = squash(z("output", new_c)) * math.tanh(new_c)
    if extra.startswith("projection"):
        new_h = 2 * new_h + (0.125 if extra.endswith("bias") else 0)
        new_h = min(new_h, 0.2) if extra == "projection" else new_h
    np.testing.assert_allclose([found_h.item(), found_c.item()], [new_h, new_c], rtol=1e-6)
