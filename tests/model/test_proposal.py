"""Proposed arguments of calls fit together and cover corner cases."""

import numpy as np
import pytest

from nnapi.codes import OperationCode
from nnapi.model.operation import REGISTRY, Operation
from nnapi.operation_codes import CODES
from nnapi.ops.window_proposals import HUGE
from nnapi.testing.example import Example, OperandSource
from nnapi.testing.random.calls import NoCall, random_call
from tests.rows import each_row

OPERATIONS = sorted(REGISTRY.values(), key=lambda operation: operation.name)
DRAWS = 30
SELDOM = {"GENERATE_PROPOSALS", "BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN"}
"""Number of outputs, or scales, that depend on what else is drawn."""


def accepted(operation: Operation, seed: int) -> bool:
    try:
        random_call(operation, np.random.default_rng([seed, 1]), attempts=1)
    except NoCall:
        return False
    return True


@each_row("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_most_draws_make_sense(operation: Operation) -> None:
    share = sum(accepted(operation, seed) for seed in range(DRAWS)) / DRAWS
    assert share > (0.1 if operation.name in SELDOM else 0.4)


def calls(code: str, count: int = 150) -> list[Example]:
    return [random_call(REGISTRY[CODES[code]], np.random.default_rng([seed, 2])) for seed in range(count)]


def numbers(example: Example) -> dict[str, int]:
    """The scalars of a call by name."""
    return {o.name: int(o.data) for o in example.main.operands if o.type in ("INT32", "BOOL") and o.data is not None}


def dimensions(example: Example, name: str) -> tuple[int, ...]:
    return next(operand.dimensions for operand in example.main.operands if operand.name == name)


def test_convolutions_have_odd_windows() -> None:
    drawn = calls("CONV_2D")
    scalars = [numbers(call) for call in drawn]
    sizes = [dimensions(call, "filter") for call in drawn]
    assert any(s.get("stride_w", 0) > size[2] for s, size in zip(scalars, sizes, strict=True))
    assert any(s.get("pad_left") != s.get("pad_right") for s in scalars)
    assert any(
        HUGE in (s.get("stride_w"), s.get("dilation_w"), s.get("stride_h"), s.get("dilation_h")) for s in scalars
    )
    assert any(
        size[3] == 1 and s.get("stride_w", 0) > 1 == s.get("stride_h") for s, size in zip(scalars, sizes, strict=True)
    )
    assert {s.get("activation") for s in scalars} >= {0, 1, 2, 3}
    assert {s.get("layout") for s in scalars} == {0, 1, None}


@pytest.mark.slow
def test_quantized_pairs_have_constants_of_one_number_and_zero_points_at_the_ends() -> None:
    drawn = [
        operand for call in calls("MUL", 600) for operand in call.main.operands if operand.type == "TENSOR_QUANT8_ASYMM"
    ]
    assert {operand.lifetime for operand in drawn} >= {OperandSource.CONSTANT_COPY, OperandSource.SUBGRAPH_INPUT}
    assert {0, 255} <= {operand.zero_point for operand in drawn}
    assert any(o.data is not None and o.data.size > 1 and np.ptp(o.data) == 0 for o in drawn)
    assert any(o.dimensions == (1,) for o in drawn)


@pytest.mark.parametrize("code", ["SOFTMAX", "MUL", "CONV_2D"])
def test_special_numbers_only_where_they_are_wanted(code: str) -> None:
    operation = REGISTRY[CODES[code]]

    def holds_special(special: float) -> bool:
        drawn = [random_call(operation, np.random.default_rng([s, 3]), special=special) for s in range(20)]
        floats = [a for call in drawn for a in call.inputs.values() if a is not None and a.dtype.kind == "f"]
        return any(not np.isfinite(array).all() for array in floats)

    assert holds_special(0.3)
    assert not holds_special(0.0)


def test_a_given_tensor_comes_first() -> None:
    first = next(o for o in calls("RELU", 1)[0].main.operands if o.lifetime == OperandSource.SUBGRAPH_OUTPUT)
    operation = REGISTRY[OperationCode.RELU6]
    call = random_call(operation, np.random.default_rng(0), given=[first])
    assert (call.main.operands[0].dimensions, call.main.operands[0].type) == (first.dimensions, first.type)
