"""Files with branches that NNAPI cannot express, and an input whose value chooses a branch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402  # it may be missing

from nnapi.onnx.failures import NotImplemented  # noqa: E402  # its package needs onnx
from nnapi.onnx.session import MOST_CHOICES  # noqa: E402
from tests.onnx.session_cases import FLOAT, INT64, save, session  # noqa: E402

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def branch(kind: str, result: str, **attributes: Any) -> Any:
    last = helper.make_tensor_value_info(result, FLOAT, None)
    return helper.make_graph([helper.make_node(kind, ["x"], [result], **attributes)], kind, [], [last])


def choosing(refused: str = "Multinomial", rows: int | str = "n", rest: str = "Relu") -> bytes:
    """Return a file that computes Neg for a rate of 8, else an operator without an operation."""
    nodes = [
        helper.make_node("Equal", ["rate", "eight"], ["is_eight"]),
        helper.make_node("If", ["is_eight"], ["z"], then_branch=branch("Neg", "a"), else_branch=branch(refused, "b")),
        helper.make_node(rest, ["z"], ["y"]),
    ]
    inputs = [("x", FLOAT, [rows, 3]), ("rate", INT64, [])]
    return save(nodes, inputs, [("y", FLOAT, [rows, 3])], {"eight": np.int64(8)})


@pytest.mark.parametrize("rows", [2, "n"])
def test_only_the_branch_that_runs_must_be_expressible(rows: int | str) -> None:
    """silero-vad has a branch for each sampling rate; that of the other rate does not fit a chunk of samples."""
    made = session(choosing(rows=rows))
    assert made.run(None, {"x": -X, "rate": np.int64(8)})[0].tolist() == X.tolist()
    with pytest.raises(NotImplemented, match="Multinomial"):
        made.run(None, {"x": X, "rate": np.int64(16)})
    assert made.run(None, {"x": -X, "rate": np.int64(8)})[0].tolist() == X.tolist()
    assert ", 1 run" not in made.explain()
    assert made.explain().count("compiled in") == 1
    made.set_providers(["nnapi-reference"])
    assert not made.explain()
    assert made.run(None, {"x": -X, "rate": np.int64(8)})[0].tolist() == X.tolist()


@pytest.mark.parametrize("rows", [2, "n"])
def test_an_operator_beside_the_branches_is_refused_at_once(rows: int | str) -> None:
    """No value of an input leaves it out."""
    with pytest.raises(NotImplemented, match="Det"):
        session(choosing(rows=rows, rest="Det")).run(None, {"x": X, "rate": np.int64(8)})


def test_branches_that_are_expressible_stay_one_model() -> None:
    made = session(choosing("Abs"))
    for rate, expected in ((8, X), (16, X), (8, X)):
        assert made.run(None, {"x": -X, "rate": np.int64(rate)})[0].tolist() == expected.tolist()
    assert made.explain().count("compiled in") == 1


def test_the_latest_values_are_kept() -> None:
    """A value of its own compiles the file again."""
    nodes = [
        helper.make_node("Less", ["rate", "eight"], ["small"]),
        helper.make_node("If", ["small"], ["z"], then_branch=branch("Neg", "a"), else_branch=branch("Det", "b")),
        helper.make_node("Cast", ["rate"], ["factor"], to=FLOAT),
        helper.make_node("Mul", ["z", "factor"], ["y"]),
    ]
    inputs = [("x", FLOAT, ["n", 3]), ("rate", INT64, [])]
    made = session(save(nodes, inputs, [("y", FLOAT, ["n", 3])], {"eight": np.int64(99)}))
    for rate in range(MOST_CHOICES + 2):
        assert made.run(None, {"x": X, "rate": np.int64(rate)})[0].tolist() == (X * -rate).tolist()
    assert made.explain().count("compiled in") == MOST_CHOICES
