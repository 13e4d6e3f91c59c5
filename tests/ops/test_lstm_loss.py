"""The rounding error of gates: their last places, scaled by the state and by the candidate, in each step."""

from typing import Any

import numpy as np
import pytest

from nnapi.model.facts import ROUNDING
from nnapi.ops.lstm_loss import APART, by_gates
from nnapi.testing.random.deviation import estimate_losses

GATES = ("forget", "cell", "output")
F32 = np.float32
CANDIDATE = 330.7082
"""With a forget gate of 1 - 3.175 last places, in float32 either 3 or 4."""
BEFORE = 15.48014


def cell(*, coupled: bool = True, activation: int = 1, clip: float = 0.0, prefix: str = "") -> dict[str, Any]:
    """A cell of one unit, whose forget gate is nearly 1 and whose candidate is large."""
    sums = {"forget": BEFORE, "cell": CANDIDATE, "output": 50.0, "input": -BEFORE}
    given: dict[str, Any] = {"input_to_input_weights": None}
    for gate in GATES if coupled else (*GATES, "input"):
        given |= {
            f"input_to_{gate}_weights": np.full((1, 1), sums[gate], F32),
            f"recurrent_to_{gate}_weights": np.zeros((1, 1), F32),
            "cell_bias" if gate == "cell" else f"{gate}_gate_bias": np.zeros(1, F32),
        }
    given = {prefix + name: value for name, value in given.items()}
    return given | {
        "activation": np.int32(activation),
        "cell_clip": F32(clip),
        "proj_clip": F32(0),
        "time_major": np.bool_(False),
    }


def with_states(given: dict[str, Any], *, steps: int = 1, prefix: str = "") -> dict[str, Any]:
    names = (
        (f"{prefix}activation_state_in", f"{prefix}cell_state_in") if prefix else ("output_state_in", "cell_state_in")
    )
    return given | {"input": np.ones((1, steps, 1), F32)} | dict.fromkeys(names, np.zeros((1, 1), F32))


RESULTS = dict.fromkeys(("output", "output_state_out", "cell_state_out"), np.zeros((1, 1), F32))


def bound(given: dict[str, Any]) -> list[float]:
    return [float(moved.max()) for moved in by_gates(given, RESULTS, ROUNDING["fp32"])]


def test_neighbors_of_the_nearest_gate_stay_within_the_bound() -> None:
    exact = 1 / (1 + np.exp(BEFORE)) * CANDIDATE
    nearest = F32(1 / (1 + np.exp(-BEFORE)))
    states = [float(1 - np.nextafter(nearest, F32(to))) * CANDIDATE for to in (0, 1)]
    (moved, *_) = bound(with_states(cell()))
    assert max(abs(state - exact) for state in states) > 2e-5
    assert abs(states[0] - states[1]) <= moved * 1.001
    assert moved < 3 * ROUNDING["fp32"] * CANDIDATE


def test_scalars_may_be_arrays() -> None:
    """A model's constants are."""
    given = with_states(cell(activation=4, clip=0.5))
    scalars = {name: np.asarray(value) for name, value in given.items() if np.isscalar(value)}
    assert bound(given | scalars) == bound(given)


def test_gates_of_their_own_lose_only_their_last_places() -> None:
    given = with_states(cell(coupled=False))
    entry = 1 / (1 + np.exp(BEFORE))
    assert bound(given)[0] == pytest.approx(APART * ROUNDING["fp32"] * entry * CANDIDATE, rel=1e-3)
    assert bound(given)[0] < 1e-10


@pytest.mark.parametrize("steps", [1, 1000])
def test_a_state_that_is_kept_loses_the_last_place_of_its_gate_in_each_step(steps: int) -> None:
    """The forget gate is nearly 1, the input gate and the candidate are nearly 0; the state should stay 1."""
    given = with_states(cell(coupled=False, activation=4), steps=steps)
    given |= {"input_to_cell_weights": np.zeros((1, 1), F32), "cell_state_in": np.ones((1, 1), F32)}
    given["input_to_forget_weights"] = np.full((1, 1), 20, F32)
    state = F32(1)
    for _ in range(steps):
        state = F32(state * np.nextafter(F32(1), F32(0)))
    assert 1 - float(state) <= bound(given)[0] <= 3 * (1 - float(state))


def test_a_state_that_is_forgotten_loses_no_more() -> None:
    short, long = (with_states(cell(coupled=False), steps=steps) for steps in (3, 1000))
    for given in (short, long):
        given |= {"input_to_forget_weights": np.zeros((1, 1), F32), "input_to_input_weights": np.ones((1, 1), F32)}
    assert bound(long)[0] < 2 * bound(short)[0]


def test_each_step_loses_again() -> None:
    assert bound(with_states(cell(), steps=3))[0] == pytest.approx(3 * bound(with_states(cell()))[0])


def test_candidates_with_a_limit_lose_little() -> None:
    assert bound(with_states(cell(activation=4)))[0] == pytest.approx(APART * ROUNDING["fp32"])


def test_no_more_is_lost_than_a_clip_leaves() -> None:
    assert bound(with_states(cell(clip=1e-6)))[0] == pytest.approx(2e-6)


def test_a_projection_adds_losses_up() -> None:
    given = with_states(cell()) | {"projection_weights": np.full((1, 1), 80, F32)}
    output, _, state = bound(given)
    assert output == pytest.approx(80 * state)


@pytest.mark.parametrize("coupled", ["fw_", "bw_"])
def test_each_direction_loses_by_itself(coupled: str) -> None:
    given: dict[str, Any] = {}
    for prefix in ("fw_", "bw_"):
        own = cell(coupled=prefix == coupled, prefix=prefix)
        if prefix != coupled:
            own[f"{prefix}input_to_input_weights"] = np.full((1, 1), -BEFORE, F32)
        given |= with_states(own, prefix=prefix)
    names = ("fw_output", "bw_output", "fw_cell_state_out", "bw_cell_state_out")
    results = dict.fromkeys(names, np.zeros((1, 1), F32))
    moved = dict(zip(names, by_gates(given, results, ROUNDING["fp32"]), strict=True))
    assert [name for name in names if moved[name].max() > 1e-6] == (
        ["fw_output", "fw_cell_state_out"] if coupled == "fw_" else ["fw_output", "bw_output", "bw_cell_state_out"]
    )


def test_a_call_says_what_it_loses() -> None:
    given = with_states(cell())
    names = [
        "input",
        *(f"input_to_{gate}_weights" for gate in ("input", *GATES)),
        *(f"recurrent_to_{gate}_weights" for gate in ("input", *GATES)),
        *("cell_to_input_weights", "cell_to_forget_weights", "cell_to_output_weights"),
        *("input_gate_bias", "forget_gate_bias", "cell_bias", "output_gate_bias"),
        *("projection_weights", "projection_bias", "output_state_in", "cell_state_in"),
        *("activation", "cell_clip", "proj_clip", "time_major"),
    ]
    inputs = [given.get(name) for name in names]
    found = estimate_losses("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, list(RESULTS.values()), "fp32")
    assert [float(moved.max()) for moved in found] == bound(given)
