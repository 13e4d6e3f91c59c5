"""TENSOR_FLOAT16: halves at the borders of the graph, singles in it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnapi.codes import OperationCode as Op
from nnapi.model.operand import tensor
from nnapi.testing.compare import HALF, compare
from tests.drivers.xnnpack.engine_cases import Net, both

SHAPE = (1, 4, 4, 3)
HALVES, SINGLES, CODES = tensor("float16", SHAPE), tensor("float32", SHAPE), tensor("uint8", SHAPE, 0.05, 100)


def numbers(random: Any, shape: tuple[int, ...] = SHAPE) -> Any:
    return random.uniform(-3, 3, shape).astype(np.float16)


def agree(model: Any, *inputs: Any) -> None:
    for ours, theirs in zip(*both(model, *inputs), strict=True):
        assert ours.dtype == theirs.dtype
        assert compare(ours, theirs, HALF) is None


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(["relu", "tanh", "add", "mul", "conv", "pool"]), min_size=1, max_size=4), st.integers(0)
)
def test_graphs_of_halves(steps: list[str], seed: int) -> None:
    random = np.random.default_rng(seed)
    net = Net()
    value = net.input(HALVES)
    for step in steps:
        if step in ("relu", "tanh"):
            inputs, code = [value], Op[step.upper()]
        elif step in ("add", "mul"):
            inputs, code = [value, net.constant(HALVES, numbers(random)), *net.numbers(0)], Op[step.upper()]
        elif step == "conv":
            filter = net.constant(tensor("float16", (3, 1, 1, 3)), numbers(random, (3, 1, 1, 3)) / 3)
            bias = net.constant(tensor("float16", (3,)), numbers(random, (3,)))
            inputs, code = [value, filter, bias, *net.numbers(2, 1, 1, 0)], Op.CONV_2D
        else:
            inputs, code = [value, *net.numbers(1, 1, 1, 2, 2, 0)], Op.AVERAGE_POOL_2D
        value = net.call(code, inputs, HALVES)
    model = net.finished(value)
    given = numbers(random)
    (ours,), (theirs,) = both(model, given)
    assert ours.dtype == np.float16
    np.testing.assert_allclose(ours.astype(float), theirs.astype(float), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("code", [Op.QUANTIZE, Op.DEQUANTIZE])
def test_codes_and_halves(code: Any) -> None:
    net = Net()
    first, second = (HALVES, CODES) if code == Op.QUANTIZE else (CODES, HALVES)
    model = net.finished(net.call(code, [net.input(first)], second))
    random = np.random.default_rng(0)
    agree(model, numbers(random) if code == Op.QUANTIZE else random.integers(0, 256, SHAPE).astype(np.uint8))


def test_an_output_that_is_read_again() -> None:
    net = Net()
    middle = net.call(Op.TANH, [net.input(HALVES)], HALVES)
    agree(net.finished(net.call(Op.RELU, [middle], HALVES), middle), numbers(np.random.default_rng(1)))


@pytest.mark.parametrize("other", [SINGLES, tensor("int32", SHAPE), CODES])
def test_casts(other: Any) -> None:
    random = np.random.default_rng(2)
    there, back = Net(), Net()
    codes = random.integers(0, 256, SHAPE).astype(other.dtype)
    agree(there.finished(there.call(Op.CAST, [there.input(other)], HALVES)), codes)
    if other is not CODES:
        agree(back.finished(back.call(Op.CAST, [back.input(HALVES)], other)), numbers(random))


def test_a_cast_to_halves_rounds() -> None:
    net = Net()
    half = net.call(Op.CAST, [net.input(SINGLES)], HALVES)
    model = net.finished(net.call(Op.CAST, [half], SINGLES))
    given = np.random.default_rng(3).uniform(-3, 3, SHAPE).astype(np.float32)
    for (result,) in both(model, given):
        np.testing.assert_array_equal(result, given.astype(np.float16).astype(np.float32))
