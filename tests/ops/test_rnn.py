"""RNN, UNIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_RNN."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from nnapi.errors import BadDataError
from nnapi.model.operand import tensor
from tests.ops.recurrent_cases import assert_near, quickly, refuses, rnn_over_time, run_named
from tests.single import run_single, scalar

DTYPES = st.sampled_from(["float32", "float16"])
ACTIVATIONS = st.sampled_from([0, 1, 2, 3])
HALVING = {"weights": [[1]], "recurrent_weights": [[0.5]], "bias": [-1], "hidden_in": [[4]], "activation": 1}
X = np.array([3, -9, 5], np.float32).reshape(3, 1, 1)


def prefixed(prefix: str, values: Any) -> Any:
    return {prefix + name: value for name, value in values.items()}


def learnt(random: Any, units: int, input_size: int, aux_size: int = 0) -> Any:
    shapes = {"weights": (units, input_size), "recurrent_weights": (units, units), "bias": (units,)}
    if aux_size:
        shapes["aux_weights"] = (units, aux_size)
    return {name: random.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}


CELL = {name: HALVING[name] for name in ("weights", "recurrent_weights", "bias", "hidden_in")}
BOTH = {
    **prefixed("fw_", CELL),
    **prefixed("bw_", CELL),
    "input": X,
    "activation": 1,
    "time_major": True,
    "merge_outputs": False,
}


def test_literal() -> None:
    # 3 + 4/2 - 1 = 4 and max(0, -9 + 4/2 - 1) = 0
    for x, want in ((3, 4), (-9, 0)):
        for result in run_named(Op.RNN, HALVING | {"input": [[x]]}, 2):
            np.testing.assert_array_equal(result, [[want]])


def test_arguments_in_order() -> None:
    float32 = lambda value: (tensor("float32", np.shape(value)), np.float32(value))  # noqa: E731
    inputs = [float32([[3]]), float32([[2]]), float32([[0.5]]), float32([7]), float32([[4]]), scalar(1, 3)]  # type: ignore[arg-type]
    for result in run_single(Op.RNN, inputs, [tensor("float32")] * 2):
        np.testing.assert_array_equal(result, [[6]])  # 3 · 2 + 4 / 2 + 7, limited by RELU6


def test_literal_one_direction() -> None:
    values = HALVING | {"input": X, "time_major": 1}
    out, last = run_named(Op.UNIDIRECTIONAL_SEQUENCE_RNN, values, 2)
    np.testing.assert_array_equal(out.ravel(), [4, 0, 4])
    np.testing.assert_array_equal(last, [[4]])


def test_literal_two_directions() -> None:
    # backwards: 5 + 4/2 - 1 = 6, max(0, -9 + 6/2 - 1) = 0, 3 + 0 - 1 = 2
    fw, bw, fw_last, bw_last = run_named(Op.BIDIRECTIONAL_SEQUENCE_RNN, BOTH, 4)
    np.testing.assert_array_equal(fw.ravel(), [4, 0, 4])
    np.testing.assert_array_equal(bw.ravel(), [2, 0, 6])
    np.testing.assert_array_equal((fw_last, bw_last), [[[4]], [[2]]])
    merged, fw_last, bw_last = run_named(Op.BIDIRECTIONAL_SEQUENCE_RNN, BOTH | {"merge_outputs": True}, 3)
    np.testing.assert_array_equal(merged.reshape(3, 2), [[4, 2], [0, 0], [4, 6]])
    np.testing.assert_array_equal((fw_last, bw_last), [[[4]], [[2]]])


@quickly
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), ACTIVATIONS, DTYPES, st.integers(0, 2**32))
def test_one_step_against_plain_floats(
    batch: int, input_size: int, units: int, activation: int, dtype: str, seed: int
) -> None:
    random = np.random.default_rng(seed)
    w, x, h = (
        learnt(random, units, input_size),
        random.normal(size=(batch, input_size)),
        random.normal(size=(batch, units)),
    )
    results = run_named(Op.RNN, w | {"input": x, "hidden_in": h, "activation": activation}, 2, dtype)
    (want,), _ = rnn_over_time(w, activation, x[np.newaxis], h, dtype=dtype)
    assert_near(results, [want, want], dtype)


@quickly
@given(
    st.integers(1, 3), st.integers(1, 4), ACTIVATIONS, st.integers(0, 1), st.booleans(), DTYPES, st.integers(0, 2**32)
)
def test_one_direction_against_plain_floats(
    batch: int, time: int, activation: int, time_major: int, with_state: bool, dtype: str, seed: int
) -> None:
    random = np.random.default_rng(seed)
    w, x, h = learnt(random, 3, 2), random.normal(size=(time, batch, 2)), random.normal(size=(batch, 3))
    values = w | {"hidden_in": h, "activation": activation, "time_major": time_major}
    values["input"] = x if time_major else x.swapaxes(0, 1)
    out, last = rnn_over_time(w, activation, x, h, dtype=dtype)
    expected = [out if time_major else out.swapaxes(0, 1), last][: 1 + with_state]
    assert_near(run_named(Op.UNIDIRECTIONAL_SEQUENCE_RNN, values, len(expected), dtype), expected, dtype)


@quickly
@given(
    st.sampled_from(["none", "parallel", "cross"]),
    ACTIVATIONS,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    DTYPES,
    st.integers(0, 2**32),
)
def test_two_directions_against_plain_floats(
    linking: str, activation: Any, merge: bool, time_major: bool, with_states: bool, dtype: str, seed: Any
) -> None:
    random = np.random.default_rng(seed)
    x, aux = random.normal(size=(3, 2, 2)), random.normal(size=(3, 2, 4))
    values = {"activation": activation, "merge_outputs": merge, "time_major": time_major}
    values["input"] = x if time_major else x.swapaxes(0, 1)
    if linking != "none":
        values["aux_input"] = aux if time_major else aux.swapaxes(0, 1)
    outputs, states = [], []
    for prefix, units, backward in (("fw_", 3, False), ("bw_", 2, True)):
        reads = aux if backward and linking == "parallel" else x
        w = learnt(random, units, reads.shape[2], 4 if linking == "cross" else 0)
        h = random.normal(size=(2, units))
        values |= prefixed(prefix, w) | {f"{prefix}hidden_in": h}
        out, last = rnn_over_time(w, activation, reads, h, aux if linking == "cross" else None, backward, dtype)
        outputs.append(out if time_major else out.swapaxes(0, 1))
        states.append(last)
    expected = [np.concatenate(outputs, -1)] if merge else outputs
    expected += states if with_states else []
    assert_near(run_named(Op.BIDIRECTIONAL_SEQUENCE_RNN, values, len(expected), dtype), expected, dtype)


@pytest.mark.parametrize(
    ("change", "count", "message"),
    [
        ({"merge_outputs": True}, 2, "gives 3 outputs, 2 are listed: bw_hidden_out is missing"),
        ({"merge_outputs": True}, 4, "gives 3 outputs, 4 are listed: bw_hidden_out is the last, 1 too many"),
        ({}, 1, "gives 4 outputs, 1 are listed: bw_output is missing"),
        ({}, 3, "gives 4 outputs, 3 are listed: bw_hidden_out is missing"),
        (
            {"aux_input": X, "bw_aux_weights": [[1]]},
            2,
            "bw_aux_weights is given, fw_aux_weights is omitted, must be given in both directions or none",
        ),
        (
            {"aux_input": X, "bw_aux_weights": [[1]], "fw_aux_weights": [[1, 1]]},
            2,
            "fw_aux_weights has shape [1, 2], must be [1, 1]",
        ),
        ({"bw_bias": [1, 1]}, 2, "bw_bias has shape [2], must be [1]"),
        ({"fw_weights": None}, 2, "fw_weights is omitted, but needed"),
        ({"activation": 4}, 2, "activation is 4, must be one of 0, 1, 2, 3"),
    ],
)
def test_refusals_two_directions(change: Any, count: int, message: str) -> None:
    refuses(message, Op.BIDIRECTIONAL_SEQUENCE_RNN, BOTH | change, count)


def test_refusals_one_direction() -> None:
    values = HALVING | {"input": X, "time_major": 1}
    refuses("time_major is 2, must be one of 0, 1", Op.UNIDIRECTIONAL_SEQUENCE_RNN, values | {"time_major": 2}, 1)
    refuses("hidden_in has shape [1, 1], must be [3, 1]", Op.UNIDIRECTIONAL_SEQUENCE_RNN, values | {"time_major": 0}, 1)


def test_refusals_one_step() -> None:
    refuses(
        "recurrent_weights has shape [1, 2], must be [1, 1]",
        Op.RNN,
        HALVING | {"input": [[1]], "recurrent_weights": [[1, 1]]},
        2,
    )
    with pytest.raises(BadDataError, match=re.escape("bias is omitted, but needed")):
        run_named(Op.RNN, HALVING | {"input": [[1]], "bias": None}, 2)
