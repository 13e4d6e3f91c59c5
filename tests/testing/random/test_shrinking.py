"""The smallest failing example."""

from collections.abc import Iterator

import numpy as np
import pytest

from nnapi.testing.example import Example
from nnapi.testing.random.graphs import random_graph
from nnapi.testing.random.shrinking import resize, shrink
from tests.testing.testing_cases import add


def test_operations_that_do_not_matter_go() -> None:
    example = random_graph(np.random.default_rng(5), 6)
    assert len(example.main.operations) > 2
    wanted = example.main.operations[-1].type

    def fails(candidate: Example) -> Example | None:
        return candidate if wanted in candidate.operations else None

    smallest, errors = shrink(example, fails)
    assert (smallest.operations, errors) == ((wanted,), "")


def test_dimensions_and_values_become_small() -> None:
    def fails(candidate: Example) -> Example | None:
        x = candidate.inputs[0]
        return candidate if x is not None and x.size == candidate.main.operands[1].data.size else None

    smallest, _ = shrink(add(inputs={0: np.array([3.3, 4], np.float32)}), fails)
    assert smallest.main.operands[0].dimensions == (1,)
    assert smallest.main.operands[3].dimensions == (0,)
    assert smallest.inputs[0].tolist() == [0]
    assert smallest.main.operands[1].data.tolist() == [0]


def test_an_error_of_the_search_loses_no_example() -> None:
    """Dimensions and values are still made smaller."""
    example = add(inputs={0: np.array([3.3, 4], np.float32)})

    def raise_type_error(example: Example) -> Iterator[Example]:
        raise TypeError("unhashable")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nnapi.testing.random.shrinking._fewer_operations", raise_type_error)
        smallest, errors = shrink(example, lambda candidate: candidate)
    assert (smallest.operations, errors) == (example.operations, "TypeError: unhashable")
    assert all(array is None or not array.any() for array in smallest.inputs.values())


def test_what_does_not_fail_any_more_is_not_taken() -> None:
    example = add()
    assert shrink(example, lambda candidate: None) == (example, "")


def test_resized_cuts_data() -> None:
    smaller = resize(add(), {(0, 0): 1})
    assert smaller.inputs[0].tolist() == [1]
    assert smaller.main.operands[1].dimensions == (2,)
