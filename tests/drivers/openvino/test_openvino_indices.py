"""Indices that are in range by their operators, and indices from an input, which each run tests."""

from typing import Any

import numpy as np
import pytest

from nnapi.compiling import compile
from nnapi.errors import NnapiError
from nnapi.runtime.device import Device

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver, indices
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.engine import lower_model
from nnapi.drivers.openvino.indices import UNKNOWN, Range, find_range, find_source
from tests.drivers.transformer_cases import NODE, read

pytestmark = pytest.mark.engine

ENGINE = Device(OpenVinoDriver(threads=1))
ROWS = np.arange(10, dtype=np.float32).reshape(5, 2)


def ints(*values: Any) -> Any:
    return op.constant(np.array(values, np.int32))


def parameter(*shape: int) -> Any:
    return op.parameter([*shape], np.int32)


def looked_up(*values: int) -> Any:
    return op.gather(ints(*values), parameter(3), op.constant(np.int64(0)))


def test_the_range_of_constants_and_of_elements_of_them() -> None:
    assert find_range(ints(3, -2, 7)) == (-2, 7)
    assert find_range(looked_up(4, 0, 9)) == (0, 9)
    assert find_range(op.reshape(looked_up(4, 9), ints(3, 1), False)) == (4, 9)
    assert find_range(op.split(ints([1, 5]), op.constant(np.int64(1)), 2).output(1)) == (1, 5)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("add", (1, 14)), ("subtract", (-5, 8)), ("maximum", (1, 9)), ("minimum", (0, 5)), ("multiply", UNKNOWN)],
)
def test_the_range_of_arithmetic(kind: str, expected: Range) -> None:
    assert find_range(getattr(op, kind)(looked_up(0, 9), looked_up(1, 5))) == expected


def test_the_range_of_a_choice_and_of_positions() -> None:
    chosen = op.select(op.constant(np.ones(3, np.bool_)), looked_up(0, 2), looked_up(7, 9))
    assert find_range(chosen) == (0, 9)
    found = op.topk(op.parameter([4, 6], np.float32), op.constant(np.int32(2)), 1, "max", "value", "i32")
    assert find_range(found.output(1)) == (0, 5)


def test_clamps_bound_what_is_unknown() -> None:
    assert find_range(parameter(3)) == UNKNOWN
    assert find_range(op.minimum(op.maximum(parameter(3), ints(0)), ints(4))) == (0, 4)


def test_a_sum_that_may_overflow_has_no_range() -> None:
    assert find_range(op.add(ints(2**31 - 1), ints(1))) == UNKNOWN
    assert find_range(op.add(ints(2**31 - 2), ints(1))) == (2**31 - 1,) * 2
    assert find_range(op.subtract(parameter(1), ints(0))) == UNKNOWN


def test_chains_are_followed_to_a_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indices, "DEEPEST", 3)
    node = ints(1)
    for _ in range(2):
        node = op.add(node, ints(1))
    assert find_range(node) == (3, 3)
    assert find_range(op.add(node, ints(1))) == UNKNOWN


def test_indices_are_an_input_or_a_view_of_it() -> None:
    x = parameter(2, 3)
    for node in (x, op.reshape(x, ints(6), False), op.unsqueeze(x, ints(0))):
        source = find_source(node)
        assert source is not None
        assert source.parameter.get_name() == x.get_name()
        assert not source.is_raised
    assert find_source(op.add(x, ints(1))) is None
    assert find_source(ints(1, 2)) is None


def test_indices_may_be_repeated_but_coordinates_may_not() -> None:
    x = parameter(1, 3)
    repeated = find_source(op.tile(x, ints(4, 1)))
    assert repeated is not None
    assert repeated.parameter.get_name() == x.get_name()
    assert not repeated.is_in_order
    given = np.array([0, 2], np.int32)
    nodes = [
        NODE("Expand", ["x", "shape"], ["i"]),
        NODE("ScatterElements", ["rows", "i", "u"], ["y"], axis=1),
    ]
    constants = {"shape": np.array([2, 2]), "rows": ROWS.T.copy(), "u": np.full((2, 2), -1, np.float32)}
    compiled = compile(read(nodes, given, **constants), [ENGINE])
    expected = ROWS.T.copy()
    expected[:, given] = -1
    assert compiled.run(given)[0].tolist() == expected.tolist()
    with pytest.raises(NnapiError, match=r"must be in -5..4"):
        compiled.run(np.array([0, 5], np.int32))
    nodes[1] = NODE("GatherND", ["rows", "i"], ["y"])
    assert "does not test indices" in str([v.reason for v in lower_model(read(nodes, given, **constants)).verdicts])


def test_negative_indices_of_an_input_may_become_0() -> None:
    raised = find_source(op.maximum(parameter(3), ints(0)))
    assert raised is not None
    assert raised.is_raised
    assert find_source(op.maximum(parameter(3), ints(1))) is None


def test_negative_indices_in_an_input_are_tested_when_the_model_runs() -> None:
    given = np.array([4, -5, -1, 0], np.int64)
    model = read([NODE("Gather", ["rows", "x"], ["y"])], given, rows=ROWS)
    assert all(verdict.supported for verdict in lower_model(model).verdicts)
    compiled = compile(model, [ENGINE])
    assert compiled.run(given.astype(np.int32))[0].tolist() == ROWS[given].tolist()
    for wrong in (5, -6):
        with pytest.raises(NnapiError, match=r"indices x are in .*, must be in -5..4"):
            compiled.run(np.array([0, 1, wrong, 2], np.int32))


def test_coordinates_in_an_input_are_tested_when_the_model_runs() -> None:
    given = np.array([[4, 1], [-5, 0]], np.int64)
    compiled = compile(read([NODE("GatherND", ["rows", "x"], ["y"])], given, rows=ROWS), [ENGINE])
    assert compiled.run(given.astype(np.int32))[0].tolist() == [9, 0]
    for wrong, said in (([4, 2], r"x\[..., 1\] are in 0..2, must be in -2..1"), ([5, 0], "-5..5.*-5..4")):
        with pytest.raises(NnapiError, match=said):
            compiled.run(np.array([wrong, [-5, 0]], np.int32))


def test_other_computed_indices_are_refused() -> None:
    model = read([NODE("Add", ["x", "step"], ["i"]), NODE("Gather", ["rows", "i"], ["y"])],
                 np.array([1, 2], np.int64), rows=ROWS, step=np.int64(1))  # fmt: skip
    assert "does not test indices" in str([verdict.reason for verdict in lower_model(model).verdicts])


def test_computed_indices_that_are_in_range_need_no_test() -> None:
    x = np.array([[1, 5, 2], [7, 0, 3]], np.float32)
    nodes = [NODE("ArgMax", ["x"], ["i"], axis=1, keepdims=0), NODE("Gather", ["rows", "i"], ["y"])]
    assert compile(read(nodes, x, rows=ROWS), [ENGINE]).run(x)[0].tolist() == [[2, 3], [0, 1]]
    refused = lower_model(read(nodes, x, rows=ROWS[:2])).verdicts
    assert "does not test indices against 0..1" in str([verdict.reason for verdict in refused])
