"""Names, order and presence of an LSTM cell's operands."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperationCode as Op
from nnapi.model.operation import REGISTRY
from tests.ops.recurrent_cases import options, refuses, run_named, weights

CELL = [
    "input_to_input_weights",
    "input_to_forget_weights",
    "input_to_cell_weights",
    "input_to_output_weights",
    "recurrent_to_input_weights",
    "recurrent_to_forget_weights",
    "recurrent_to_cell_weights",
    "recurrent_to_output_weights",
    "cell_to_input_weights",
    "cell_to_forget_weights",
    "cell_to_output_weights",
    "input_gate_bias",
    "forget_gate_bias",
    "cell_bias",
    "output_gate_bias",
    "projection_weights",
    "projection_bias",
]
NORM = [f"{gate}_layer_norm_weights" for gate in ("input", "forget", "cell", "output")]
AUX = [f"aux_input_to_{gate}_weights" for gate in ("input", "forget", "cell", "output")]
OPTIONS = ["activation", "cell_clip", "proj_clip"]
STATES = ["output_state_in", "cell_state_in"]


def prefixed(prefix: Any, names: Any) -> Any:
    return [prefix + name for name in names]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (Op.LSTM, ["input", *CELL, *STATES, *OPTIONS, *NORM]),
        (Op.UNIDIRECTIONAL_SEQUENCE_LSTM, ["input", *CELL, *STATES, *OPTIONS, "time_major", *NORM]),
        (
            Op.BIDIRECTIONAL_SEQUENCE_LSTM,
            [
                "input",
                *prefixed("fw_", CELL),
                *prefixed("bw_", CELL),
                "fw_activation_state_in",
                "fw_cell_state_in",
                "bw_activation_state_in",
                "bw_cell_state_in",
                "aux_input",
                *prefixed("fw_", AUX),
                *prefixed("bw_", AUX),
                *OPTIONS,
                "merge_outputs",
                "time_major",
                *prefixed("fw_", NORM),
                *prefixed("bw_", NORM),
            ],
        ),
        (
            Op.QUANTIZED_LSTM,
            [
                "input",
                *CELL,
                "output_in",
                "cell_state_in",
                *NORM,
                "cell_clip",
                "proj_clip",
                *(f"{gate}_intermediate_scale" for gate in ("input", "forget", "cell", "output")),
                "hidden_state_zero_point",
                "hidden_state_scale",
            ],
        ),
        (Op.QUANTIZED_16BIT_LSTM, ["input", *CELL[:8], *CELL[11:15], "cell_state_in", "output_in"]),
    ],
)
def test_order(code: Any, names: list[str]) -> None:
    assert [slot.name for slot in REGISTRY[code].overloads[0].inputs] == names


PLAIN = dict.fromkeys(("coupled", "peephole", "norm", "projection", "projection_bias"), False) | {
    "activation": 4,
    "cell_clip": 0.0,
    "proj_clip": 0.0,
}


def call(**kind: bool) -> Any:
    kind = PLAIN | kind  # type: ignore[assignment]
    given, output_size = weights(np.random.default_rng(0), kind, 2, 3)
    states = {"output_state_in": np.zeros((1, output_size)), "cell_state_in": np.zeros((1, 3))}
    return given | states | options(kind) | {"input": np.ones((1, 2))}


def test_a_peephole_into_a_coupled_input_gate_has_no_effect() -> None:
    values = call(coupled=True, peephole=True)
    spare = {"cell_to_input_weights": np.ones(3)}
    for given, want in zip(run_named(Op.LSTM, values | spare, 4), run_named(Op.LSTM, values, 4), strict=True):
        np.testing.assert_array_equal(given, want)


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (
            {},
            {"input_to_input_weights": None},
            "recurrent_to_input_weights is given, but input_to_input_weights is omitted",
        ),
        (
            {},
            {"recurrent_to_input_weights": None},
            "recurrent_to_input_weights is omitted, but input_to_input_weights is given",
        ),
        ({}, {"input_gate_bias": None}, "input_gate_bias is omitted, but input_to_input_weights is given"),
        (
            {"coupled": True},
            {"input_gate_bias": np.zeros(3)},
            "input_gate_bias is given, but input_to_input_weights is omitted",
        ),
        (
            {"peephole": True},
            {"cell_to_input_weights": None},
            "cell_to_input_weights is omitted, but others of its kind are given",
        ),
        (
            {"coupled": True},
            {"cell_to_output_weights": np.zeros(3)},
            "cell_to_forget_weights is omitted, but others of its kind are given",
        ),
        (
            {"norm": True},
            {"cell_layer_norm_weights": None},
            "cell_layer_norm_weights is omitted, but others of its kind are given",
        ),
        (
            {"norm": True, "coupled": True},
            {"input_layer_norm_weights": np.zeros(3)},
            "input_layer_norm_weights is given, but input_to_input_weights is omitted",
        ),
        ({}, {"projection_bias": np.zeros(3)}, "projection_bias is given, but projection_weights is omitted"),
        ({}, {"forget_gate_bias": None}, "forget_gate_bias is omitted, but needed"),
        ({}, {"forget_gate_bias": np.zeros((1, 3))}, "forget_gate_bias has rank 2, must have rank 1"),
        ({}, {"input_to_cell_weights": np.zeros((3, 4))}, "input_to_cell_weights has shape [3, 4], must be [3, 2]"),
        ({}, {"cell_state_in": np.zeros((2, 3))}, "cell_state_in has shape [2, 3], must be [1, 3]"),
        ({}, {"activation": 2}, "activation is 2, must be one of 0, 1, 3, 4, 6"),
        ({}, {"cell_clip": -1.0}, "cell_clip is -1.0, must not be negative"),
        (
            {},
            {f"recurrent_to_{gate}_weights": np.zeros((3, 1)) for gate in ("input", "forget", "cell", "output")},
            "recurrent_to_output_weights is for 1 outputs, 3 units without projection_weights give 3",
        ),
    ],
)
def test_refusals(kind: Any, change: Any, message: str) -> None:
    refuses(message, Op.LSTM, call(**kind) | change, 4)
