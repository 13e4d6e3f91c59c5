"""Operators along time: recurrent cells with batches first or lengths, and the order of Scan's outputs."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper  # noqa: E402

from tests.importers.onnx.operator_cases import computed, loaded  # noqa: E402

STEPS, BATCHES, SIZE = 5, 2, 3
RANDOM = np.random.default_rng(4)
SEQUENCE = RANDOM.normal(size=(STEPS, BATCHES, SIZE)).astype(np.float32)
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def weights(kind: str) -> dict[str, Any]:
    return {name: RANDOM.normal(size=(1, GATES[kind] * SIZE, SIZE)).astype(np.float32) for name in "WR"}


@pytest.mark.parametrize("kind", GATES)
def test_batches_may_be_the_first_axis(kind: str) -> None:
    constants = weights(kind)
    steps_first, batches_first = (
        helper.make_node(kind, ["x", "W", "R"], ["y"], hidden_size=SIZE, layout=layout) for layout in (0, 1)
    )
    expected = computed(loaded([steps_first], constants, x=SEQUENCE), SEQUENCE)  # steps, directions, batches
    x = np.ascontiguousarray(SEQUENCE.transpose(1, 0, 2))
    found = computed(loaded([batches_first], constants, x=x), x)
    np.testing.assert_allclose(found, expected.transpose(2, 0, 1, 3), 0, 1e-6)


@pytest.mark.parametrize("kind", GATES)
def test_lengths_of_all_steps_change_nothing_and_shorter_ones_end_rows(kind: str) -> None:
    node = helper.make_node(kind, ["x", "W", "R", "", "lengths"], ["y"], hidden_size=SIZE)
    plain = helper.make_node(kind, ["x", "W", "R"], ["y"], hidden_size=SIZE)
    constants = weights(kind)
    whole = loaded([node], constants | {"lengths": np.full(BATCHES, STEPS, np.int32)}, x=SEQUENCE)
    expected = computed(loaded([plain], constants, x=SEQUENCE), SEQUENCE)
    assert np.array_equal(computed(whole, SEQUENCE), expected)
    lengths = np.full(BATCHES, STEPS, np.int32)
    lengths[0] = STEPS - 1
    shorter = computed(loaded([node], constants | {"lengths": lengths}, x=SEQUENCE), SEQUENCE)
    ended = np.copy(expected)
    ended[STEPS - 1, :, 0] = 0
    np.testing.assert_allclose(shorter, ended, 0, 1e-6)


@pytest.mark.parametrize(("directions", "rows"), [(None, [1, 4, 9]), ([0], [1, 4, 9]), ([1], [9, 4, 1])])
def test_outputs_of_a_scan_are_in_the_order_of_its_steps_unless_it_says_otherwise(
    directions: list[int] | None, rows: list[float]
) -> None:
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("s", "a", "t", "o")]
    nodes = [helper.make_node("Add", ["s", "a"], ["t"]), helper.make_node("Identity", ["t"], ["o"])]
    body = helper.make_graph(nodes, "body", infos[:2], infos[2:])
    options: dict[str, Any] = {} if directions is None else {"scan_output_directions": directions}
    scan = helper.make_node("Scan", ["zero", "x"], ["last", "y"], body=body, num_scan_inputs=1, **options)
    x = np.array([[1], [3], [5]], np.float32)
    assert computed(loaded([scan], {"zero": np.zeros(1, np.float32)}, x=x), x).reshape(-1).tolist() == rows
