"""Measurements of a plan."""

from collections.abc import Sequence

import numpy as np
import pytest

from nnapi.model.operand import Array
from nnapi.runtime.choice.challenger import Inputs, time_runs
from nnapi.runtime.executors.stopwatch import Stopwatch
from tests.runtime.choice.trial_cases import Machine, X


@pytest.mark.parametrize(
    ("lengths", "runs"),
    [
        ((12, 8), 1),
        ((13, 12), 2),
        ((13, 14, 13), 3),
        ((21, 13, 13), 3),
        ((20, 20, 12), 2),
        ((20, 19, 13), 3),
    ],
    ids=["shorter", "then shorter", "about as long", "once disturbed", "longer", "in cold caches"],
)
def test_a_clear_ratio_needs_fewer_runs(machine: Machine, lengths: Sequence[float], runs: int) -> None:
    """Beside 14 ms; a single long run may have been disturbed."""
    left = list(lengths)

    def infer(inputs: Inputs) -> Sequence[Array]:
        machine.clock.now += left.pop(0) * 1e-3
        return [np.negative(inputs[0])]

    seconds, (output,) = time_runs(Stopwatch(), infer, [X], active=14e-3)
    assert len(lengths) - len(left) == runs
    assert seconds == pytest.approx(min(lengths[:runs]) * 1e-3)
    np.testing.assert_array_equal(output, -X)
