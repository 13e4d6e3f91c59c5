"""SVDF."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from tests.ops.recurrent_cases import assert_near, dot, quickly, refuses, run_named, stored

VALUES = {
    "input": [[3, 1]],
    "weights_feature": [[1, 0], [0, 10]],
    "weights_time": [[1, 2, 3], [1, 1, 1]],
    "bias": [-7],
    "state_in": [[4, 5, 99, 6, 7, 99]],
    "rank": 2,
    "activation": 0,
}


def test_literal() -> None:
    # memories become 4, 5, 3 and 6, 7, 10; y = (4 + 10 + 9) + (6 + 7 + 10) - 7
    state, out = run_named(Op.SVDF, VALUES, 2)
    np.testing.assert_array_equal(state, [[5, 3, 0, 7, 10, 0]])
    np.testing.assert_array_equal(out, [[39]])


def test_units_without_bias_and_with_activation() -> None:
    state, out = run_named(Op.SVDF, VALUES | {"bias": None, "rank": 1, "activation": 3}, 2)
    np.testing.assert_array_equal(out, [[6, 6]])
    np.testing.assert_array_equal(state, [[5, 3, 0, 7, 10, 0]])  # the state is not activated


@quickly
@given(
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([0, 1, 2, 3]),
    st.sampled_from(["float32", "float16"]),
    st.integers(0, 2**32),
)
def test_against_loops(
    batch: int, size: int, units: int, rank: int, memory: int, biased: bool, activation: int, dtype: str, seed: int
) -> None:
    random = np.random.default_rng(seed)
    filters = units * rank
    shapes = {
        "input": (batch, size),
        "weights_feature": (filters, size),
        "weights_time": (filters, memory),
        "bias": (units,),
        "state_in": (batch, filters * memory),
    }
    values = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    x, feature, time, bias, old = (stored(array, dtype).tolist() for array in values.values())
    if not biased:
        values["bias"] = None
    results = run_named(Op.SVDF, values | {"rank": rank, "activation": activation}, 2, dtype)
    states, outputs = [], []
    for b in range(batch):
        memories = [[*old[b][f * memory : (f + 1) * memory - 1], dot(feature[f], x[b])] for f in range(filters)]
        sums = [dot(time[f], memories[f]) for f in range(filters)]
        totals = [sum(sums[u * rank : (u + 1) * rank]) + (bias[u] if biased else 0) for u in range(units)]
        low, high = {0: (-1e9, 1e9), 1: (0, 1e9), 2: (-1, 1), 3: (0, 6)}[activation]
        outputs.append([min(max(total, low), high) for total in totals])
        states.append([number for line in memories for number in [*line[1:], 0]])
    assert_near(results, [np.array(states), np.array(outputs)], dtype)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rank": 3}, "rank is 3, must divide the 2 filters of weights_time"),
        ({"rank": 0}, "rank is 0, must be above 0"),
        ({"activation": 7}, "activation is 7, must be one of 0, 1, 2, 3"),
        ({"bias": [1, 1]}, "bias has shape [2], must be [1]"),
        ({"state_in": [[1, 2]]}, "state_in has shape [1, 2], must be [1, 6]"),
        ({"weights_feature": [[1, 1]]}, "weights_feature has shape [1, 2], must be [2, 2]"),
        ({"weights_time": None}, "weights_time is omitted, but needed"),
    ],
)
def test_refusals(change: Any, message: str) -> None:
    refuses(message, Op.SVDF, VALUES | change, 2)
