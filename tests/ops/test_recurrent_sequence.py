"""The loop over time and the linking of an auxiliary input."""

import re
from typing import Any

import numpy as np
import pytest

from nnapi.errors import OpFailedError
from nnapi.model.operand import Array, tensor
from nnapi.ops.recurrent_sequence import check_aux, link, over_time, run_both


def running_sum(x: Any, aux: Any, h: Any) -> tuple[Any, ...]:
    return (h + x + (0 if aux is None else aux),)


@pytest.mark.parametrize(
    ("aux", "backward", "outputs", "last"),
    [
        (None, False, [11, 13, 16], 16),
        (None, True, [16, 15, 13], 16),
        (np.array([10, 20, 30], np.float32), False, [21, 43, 76], 76),
    ],
)
def test_over_time(aux: Any, backward: bool, outputs: Any, last: Any) -> None:
    found, states = over_time(running_sum, np.array([1, 2, 3], np.float32), aux, (np.float32(10),), backward)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, outputs)
    assert states == (last,)


def test_linking() -> None:
    assert link("input", None, False) == ("input", None)
    assert link("input", "aux", True) == ("input", "aux")
    assert link("input", "aux", False) == ("aux", None)


X, AUX = tensor("float32", (3, 2, 4)), tensor("float32", (3, 2, 5))


@pytest.mark.parametrize(
    ("aux", "fw", "bw", "message"),
    [
        (AUX, "w", None, "fw_w is given, bw_w is omitted, must be given in both directions or none"),
        (AUX, None, "w", "bw_w is given, fw_w is omitted, must be given in both directions or none"),
        (None, "w", "w", "fw_w and bw_w are given, but aux_input is omitted"),
        (tensor("float32", (2, 2, 5)), None, None, "aux_input has shape [2, 2, 5], must begin with [3, 2]"),
    ],
)
def test_refusals_of_an_auxiliary_input(aux: Any, fw: str | None, bw: str | None, message: str) -> None:
    with pytest.raises(OpFailedError, match=re.escape(message)):
        check_aux(X, aux, fw, bw)


def test_legal_auxiliary_inputs() -> None:
    for aux, weights in ((None, None), (AUX, None), (AUX, "w")):
        check_aux(X, aux, weights, weights)


def count(x: Array, aux: Array | None, state: Array) -> tuple[Array]:
    """Twice the state, and the input, and ten times the auxiliary input."""
    return (2 * state + x + (0 if aux is None else 10 * aux),)


@pytest.mark.parametrize(
    ("aux", "weighted", "forward", "backward"),
    [
        (None, False, [3, 8], [9, 4]),
        ([5, 6], False, [3, 8], [21, 8]),  # the backward cell reads it instead of the input
        ([5, 6], True, [53, 168], [179, 64]),  # both read it, too
    ],
)
def test_both_directions(aux: list[int] | None, weighted: bool, forward: list[int], backward: list[int]) -> None:
    """Two steps of the inputs 1 and 2, from a state of 1."""
    x, state = np.array([1, 2]).reshape(2, 1, 1), np.array([[1]])
    given = None if aux is None else np.array(aux).reshape(2, 1, 1)
    for time_major in (True, False):
        turned = [each if each is None or time_major else each.swapaxes(0, 1) for each in (x, given)]
        fw, bw, fw_state, bw_state = run_both(
            (count, count), ((state,), (state,)), turned[0], turned[1], weighted, time_major, False
        )
        assert (fw.ravel().tolist(), bw.ravel().tolist()) == (forward, backward)
        assert fw.shape == turned[0].shape
        assert (fw_state.tolist(), bw_state.tolist()) == ([[forward[1]]], [[backward[0]]])
        merged, *_ = run_both((count, count), ((state,), (state,)), turned[0], turned[1], weighted, time_major, True)
        assert merged.shape == (*turned[0].shape[:2], 2)
        assert merged[..., 0].ravel().tolist() == forward
        assert merged[..., 1].ravel().tolist() == backward
