"""UNIDIRECTIONAL_SEQUENCE_LSTM, BIDIRECTIONAL_SEQUENCE_LSTM."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from nnapi.errors import BadDataError
from nnapi.model.operation import REGISTRY
from tests.ops.recurrent_cases import assert_near, kinds, lstm_over_time, options, quickly, refuses, run_named, weights

DTYPES = st.sampled_from(["float32", "float16"])


def one_unit(prefix: str = "") -> Any:
    """c becomes (c + x) / 2, the output 3/4 of that."""
    operands = {f"input_to_{gate}_weights": [[0]] for gate in ("forget", "output")}
    operands |= {f"recurrent_to_{gate}_weights": [[0]] for gate in ("forget", "cell", "output")}
    operands |= {"forget_gate_bias": [0], "cell_bias": [0], "output_gate_bias": [math.log(3)]}  # type: ignore[list-item]
    operands |= {"input_to_cell_weights": [[1]]}
    return {prefix + name: value for name, value in operands.items()}


LINEAR = {"activation": 0, "cell_clip": 0, "proj_clip": 0}
X = np.array([8, 4, 2], np.float32).reshape(3, 1, 1)
BOTH = {
    **one_unit("fw_"),
    **one_unit("bw_"),
    **LINEAR,
    "input": X,
    "time_major": True,
    "merge_outputs": False,
    "fw_activation_state_in": [[0]],
    "fw_cell_state_in": [[0]],
    "bw_activation_state_in": [[0]],
    "bw_cell_state_in": [[0]],
}
FORWARD = np.array([3, 3, 2.25], np.float32)  # 3/4 of 4, 4, 3


def test_literal_one_direction() -> None:
    # c: 4, 4, 3
    values = one_unit() | LINEAR | {"output_state_in": [[0]], "cell_state_in": [[0]], "input": X, "time_major": True}
    out, h, c = run_named(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, values, 3)
    np.testing.assert_allclose(out.ravel(), FORWARD, rtol=1e-6)
    np.testing.assert_allclose((h, c), [[[2.25]], [[3]]], rtol=1e-6)  # type: ignore[arg-type]
    (alone,) = run_named(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, values, 1)
    np.testing.assert_array_equal(alone, out)


def test_literal_two_directions() -> None:
    # backwards c: 2/2 = 1, (1 + 4)/2 = 2.5, (2.5 + 8)/2 = 5.25
    fw, bw, fw_h, fw_c, bw_h, bw_c = run_named(Op.BIDIRECTIONAL_SEQUENCE_LSTM, BOTH, 6)
    np.testing.assert_allclose(fw.ravel(), FORWARD, rtol=1e-6)
    np.testing.assert_allclose(bw.ravel(), np.array([5.25, 2.5, 1], np.float32) * 0.75, rtol=1e-6)
    np.testing.assert_allclose(np.ravel((fw_h, fw_c, bw_h, bw_c)), [2.25, 3, 5.25 * 0.75, 5.25], rtol=1e-6)


def test_merged_outputs_move_the_states_up() -> None:
    separate = run_named(Op.BIDIRECTIONAL_SEQUENCE_LSTM, BOTH, 6)
    merged = run_named(Op.BIDIRECTIONAL_SEQUENCE_LSTM, BOTH | {"merge_outputs": True}, 5)
    np.testing.assert_array_equal(merged[0], np.concatenate(separate[:2], -1))
    for now, before in zip(merged[1:], separate[2:], strict=True):
        np.testing.assert_array_equal(now, before)
    for merge, count in ((True, 1), (False, 2)):
        short = run_named(Op.BIDIRECTIONAL_SEQUENCE_LSTM, BOTH | {"merge_outputs": merge}, count)
        np.testing.assert_array_equal(short[0], (merged if merge else separate)[0])


@quickly
@given(kinds(), st.integers(1, 2), st.integers(1, 3), st.booleans(), st.booleans(), DTYPES, st.integers(0, 2**32))
def test_one_direction_against_plain_floats(
    kind: Any, batch: int, time: int, time_major: bool, with_states: bool, dtype: str, seed: int
) -> None:
    random = np.random.default_rng(seed)
    units = 6
    w, output_size = weights(random, kind, 2, units)
    x, h, c = (random.uniform(-1, 1, shape) for shape in ((time, batch, 2), (batch, output_size), (batch, units)))
    values = w | options(kind) | {"time_major": time_major, "output_state_in": h, "cell_state_in": c}
    values["input"] = x if time_major else x.swapaxes(0, 1)
    results = run_named(Op.UNIDIRECTIONAL_SEQUENCE_LSTM, values, 3 if with_states else 1, dtype)
    out, *states = lstm_over_time(w, kind, x, h, c, dtype=dtype)
    assert_near(results, [out if time_major else out.swapaxes(0, 1), *states][: len(results)], dtype)


@quickly
@given(
    kinds(),
    kinds(),
    st.sampled_from(["none", "parallel", "cross"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    DTYPES,
    st.integers(0, 2**32),
)
def test_two_directions_against_plain_floats(
    fw: Any, bw: Any, linking: str, merge: bool, time_major: bool, with_states: bool, dtype: str, seed: int
) -> None:
    random = np.random.default_rng(seed)
    bw |= options(fw)
    time, batch, sizes, units = 2, 2, {"input": 2, "aux": 3}, {"fw_": 6, "bw_": 5}
    x, aux = (random.uniform(-1, 1, (time, batch, size)) for size in sizes.values())
    values = options(fw) | {"merge_outputs": merge, "time_major": time_major}
    values["input"] = x if time_major else x.swapaxes(0, 1)
    if linking != "none":
        values["aux_input"] = aux if time_major else aux.swapaxes(0, 1)
    outputs, states = [], []
    for prefix, kind, backward in (("fw_", fw, False), ("bw_", bw, True)):
        reads = aux if backward and linking == "parallel" else x
        aux_size = sizes["aux"] if linking == "cross" else 0
        w, output_size = weights(random, kind, reads.shape[2], units[prefix], aux_size=aux_size)
        h, c = random.uniform(-1, 1, (batch, output_size)), random.uniform(-1, 1, (batch, units[prefix]))
        values |= {prefix + name: value for name, value in w.items()}
        values |= {f"{prefix}activation_state_in": h, f"{prefix}cell_state_in": c}
        out, *last = lstm_over_time(w, kind, reads, h, c, aux if aux_size else None, backward, dtype)
        outputs.append(out if time_major else out.swapaxes(0, 1))
        states += last
    expected = [np.concatenate(outputs, -1)] if merge else outputs
    expected += states if with_states else []
    assert_near(run_named(Op.BIDIRECTIONAL_SEQUENCE_LSTM, values, len(expected), dtype), expected, dtype)


@pytest.mark.parametrize(
    ("change", "count", "message"),
    [
        (
            {"merge_outputs": True},
            2,
            "gives 5 outputs, 2 are listed: fw_cell_state_out, bw_activation_state_out, bw_cell_state_out are missing",
        ),
        ({"merge_outputs": True}, 6, "gives 5 outputs, 6 are listed: bw_cell_state_out is the last, 1 too many"),
        ({}, 1, "gives 6 outputs, 1 are listed: bw_output is missing"),
        ({}, 5, "gives 6 outputs, 5 are listed: bw_cell_state_out is missing"),
        ({"aux_input": np.zeros((2, 1, 1))}, 2, "aux_input has shape [2, 1, 1], must begin with [3, 1]"),
        (
            {f"fw_aux_input_to_{gate}_weights": [[1]] for gate in ("forget", "cell", "output")} | {"aux_input": X},
            2,
            "fw_aux_input_to_forget_weights is given, bw_aux_input_to_forget_weights is omitted",
        ),
        (
            {f"{way}_aux_input_to_forget_weights": [[1]] for way in ("fw", "bw")},
            2,
            "bw_aux_input_to_forget_weights are given, but aux_input is omitted",
        ),
        (
            {f"{way}_aux_input_to_forget_weights": [[1]] for way in ("fw", "bw")} | {"aux_input": X},
            2,
            "fw_aux_input_to_cell_weights is omitted, but others of its kind are given",
        ),
        ({"bw_cell_state_in": [[0, 0]]}, 2, "bw_cell_state_in has shape [1, 2], must be [1, 1]"),
        ({"input": [[1]]}, 2, "input has rank 2, must have rank 3"),
    ],
)
def test_refusals(change: Any, count: int, message: str) -> None:
    refuses(message, Op.BIDIRECTIONAL_SEQUENCE_LSTM, BOTH | change, count)


def test_refuses_other_numbers_of_outputs() -> None:
    with pytest.raises(BadDataError, match="has 1 or 2 or 5 or 6 outputs, got 3"):
        run_named(Op.BIDIRECTIONAL_SEQUENCE_LSTM, BOTH, 3)


def test_states_ask_for_level_4() -> None:
    assert REGISTRY[Op.UNIDIRECTIONAL_SEQUENCE_LSTM].output_lengths == {1: 3, 3: 4}
    assert REGISTRY[Op.BIDIRECTIONAL_SEQUENCE_LSTM].output_lengths == {1: 3, 2: 3, 5: 4, 6: 4}
