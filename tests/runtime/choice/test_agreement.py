"""Close agreement with direct convolutions, on several inputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.contract.winograd import PLAIN
from nnapi.model.operand import Array
from nnapi.runtime.choice.agreement import find_disagreement, measure_difference, vary
from tests.runtime.choice.trial_cases import network

SAMPLE = np.arange(12, dtype=np.float32)


class Infer:
    """Multiplies the input by a factor; counts the different inputs."""

    def __init__(self, *factors: float) -> None:
        self.factors, self.seen = [*factors], list[Any]()

    def __call__(self, inputs: Sequence[Array | None]) -> list[Array]:
        (x,) = inputs
        assert x is not None
        self.seen.append(x.tolist())
        return [x * np.float32(self.factors.pop(0) if len(self.factors) > 1 else self.factors[0])]


def test_three_different_inputs_must_agree() -> None:
    direct, other = Infer(1), Infer(1 + 5e-6)
    assert find_disagreement(network(), [SAMPLE], direct, other, "") == ""
    assert direct.seen == other.seen
    assert len({*map(tuple, direct.seen)}) == 3
    assert all(sorted(each) == SAMPLE.tolist() for each in direct.seen)


@pytest.mark.parametrize("factors", [(1.00002,), (1, 1, 1.00002)])
def test_one_that_differs_is_a_reason(factors: tuple[float, ...]) -> None:
    found = find_disagreement(network(), [SAMPLE], Infer(1), Infer(*factors), "")
    assert found == "output 0 differs by 2.0e-05 of its largest value (at most 1e-05)"


def test_values_that_are_not_finite_do_not_agree() -> None:
    infinite = np.array([1, np.inf], np.float32)
    assert measure_difference(infinite, infinite) == np.inf
    assert measure_difference(np.zeros(2), np.zeros(3)) == np.inf
    assert measure_difference(np.zeros(2), np.zeros(2)) == 0


def test_results_of_another_winograd_variant_are_no_measure() -> None:
    assert "cannot be compared" in find_disagreement(network(), [SAMPLE], Infer(1), Infer(1), PLAIN)


def test_an_output_behind_an_unstable_operation_is_a_reason() -> None:
    builder = Builder()
    builder.output(builder.argmax(builder.input(tensor("float32", (2, 2))), 0))
    model: Model = builder.finish()
    assert "small difference" in find_disagreement(model, [SAMPLE], Infer(1), Infer(1), "")


def test_constant_inputs_are_replaced() -> None:
    zeros, indices = np.zeros((2, 3), np.float32), np.array([3, 1, 2], np.int32)
    found = vary([zeros, indices, None])
    assert len(found) == 3
    for x, order, omitted in found:
        assert x is not None
        assert order is not None
        assert omitted is None
        assert len({*x.ravel().tolist()}) == 6
        assert sorted(order.tolist()) == [1, 2, 3]
    assert vary([np.zeros(3, np.int32)]) == []
    assert "constant" in find_disagreement(network(), [np.zeros(3, np.int32)], Infer(1), Infer(1), "")
