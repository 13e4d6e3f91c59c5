"""Random IF and WHILE, against what their graphs say in plain arithmetic."""

import operator

import numpy as np
import pytest

from nnapi.codes import OperationCode
from nnapi.model.operation import REGISTRY
from nnapi.testing.random.control_flow import MOST_TURNS, random_control_flow
from tests.comparison import compute_expected
from tests.testing.testing_cases import REFERENCE

MEANING = {"ADD": operator.add, "SUB": operator.sub, "MUL": operator.mul}


@pytest.mark.parametrize("seed", range(8))
def test_if_computes_one_branch(seed: int) -> None:
    example = random_control_flow(REGISTRY[OperationCode.IF], np.random.default_rng(seed))
    condition, x, y = example.inputs.values()
    branch = example.referenced[0 if condition[0] else 1]
    (result,) = compute_expected(example, REFERENCE).outputs.values()
    assert result.tolist() == MEANING[branch.operations[0].type](x, y).tolist()


@pytest.mark.parametrize("seed", range(8))
def test_while_adds_as_often_as_it_counts(seed: int) -> None:
    example = random_control_flow(REGISTRY[OperationCode.WHILE], np.random.default_rng(seed))
    _, x, step = example.inputs.values()
    count, total = compute_expected(example, REFERENCE).outputs.values()
    assert 0 <= count[0] <= MOST_TURNS
    assert total.tolist() == (x + count[0] * step).tolist()


def test_both_branches_and_types_come_up() -> None:
    examples = [random_control_flow(REGISTRY[OperationCode.IF], np.random.default_rng(seed)) for seed in range(20)]
    assert {bool(next(iter(example.inputs.values()))[0]) for example in examples} == {False, True}
    assert {example.main.operands[-1].type for example in examples} == {"TENSOR_FLOAT32", "TENSOR_INT32"}
