"""Operations on tensors of rank 5 and 6, beside NumPy, on the reference and on both CPU engines."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nnapi import Builder, compile
from nnapi.model.operand import Array
from tests.engines import DEVICES, find_device
from tests.ops.kernel_cases import build, normal
from tests.rows import each_row

ROW = np.arange(3, dtype=np.float32).reshape(3, 1, 1, 1)
FIVE, SIX = (2, 3, 1, 4, 5), (2, 1, 3, 2, 4, 3)
Expression = Callable[[Builder, Any], Any]


def ints(*values: Any) -> Array:
    return np.array(values, np.int32)


def last_first(x: Array) -> tuple[int, ...]:
    return (x.ndim - 1, *range(x.ndim - 1))


def softmax(x: Array, axis: int) -> Array:
    e: Array = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


CASES: dict[str, tuple[Expression, Callable[[Array], Array]]] = {
    "ADD": (lambda b, x: b.add(x, ROW), lambda x: x + ROW),
    "MUL": (lambda b, x: b.mul(x, x), np.square),
    "RELU": (lambda b, x: b.relu(x), lambda x: np.maximum(x, 0)),
    "FLOOR": (lambda b, x: b.floor(x), np.floor),
    "TANH": (lambda b, x: b.tanh(x), np.tanh),
    "TRANSPOSE": (lambda b, x: b.transpose(x, ints(*last_first_of(x))), lambda x: x.transpose(last_first(x))),
    "RESHAPE": (lambda b, x: b.reshape(x, ints(6, -1)), lambda x: x.reshape(6, -1)),
    "SQUEEZE": (lambda b, x: b.squeeze(x, None), np.squeeze),
    "SOFTMAX": (lambda b, x: b.softmax(x, 1.0, 1), lambda x: softmax(x, 1)),
    "MEAN": (lambda b, x: b.mean(x, ints(0, 3), 0), lambda x: x.mean((0, 3))),
    "REDUCE_MAX": (lambda b, x: b.reduce_max(x, ints(1, -1), True), lambda x: x.max((1, -1), keepdims=True)),
    "REDUCE_SUM": (lambda b, x: b.reduce_sum(x, ints(0, 2, 4), False), lambda x: x.sum((0, 2, 4))),
    "CONCATENATION": (lambda b, x: b.concatenation([x, x], 3), lambda x: np.concatenate([x, x], 3)),
    "SLICE": (
        lambda b, x: b.slice(x, ints(1, *[0] * (len(x.shape) - 1)), ints(1, *[-1] * (len(x.shape) - 1))),
        lambda x: x[1:],
    ),
    "STRIDED_SLICE": (
        lambda b, x: b.strided_slice(
            x, ints(*[0] * len(x.shape)), ints(1, *x.shape[1:]), ints(*[1] * (len(x.shape) - 1), 2), 0, 0, 1
        ),
        lambda x: x[0, ..., ::2],
    ),
    "PAD": (lambda b, x: b.pad(x, ints(*[[0, 1]] * len(x.shape))), lambda x: np.pad(x, [(0, 1)] * x.ndim)),
    "GATHER": (lambda b, x: b.gather(x, 3, ints(1, 0, 1)), lambda x: x.take([1, 0, 1], 3)),
    "SPLIT": (lambda b, x: b.split(x, 0, 2)[1], lambda x: x[1:]),
    "TILE": (
        lambda b, x: b.tile(x, ints(*[1, 2] * 3)[: len(x.shape)]),
        lambda x: np.tile(x, [1, 2, 1, 2, 1, 2][: x.ndim]),
    ),
}


def last_first_of(x: Any) -> tuple[int, ...]:
    return last_first(np.empty(x.shape))


@each_row("device", DEVICES)
@each_row("shape", [FIVE, SIX], ids=["five", "six"])
@each_row("name", CASES)
def test_results_are_numpy_s(name: str, shape: tuple[int, ...], device: str) -> None:
    expression, expected = CASES[name]
    x, on = normal(*shape), find_device(device)
    model = build(expression, [x])
    if (name, len(shape), device) == ("PAD", 6, "xnnpack-cpu"):
        assert [each.reason for each in on.driver.verdicts(model)] == [
            "PAD (#0): PAD of rank 6, the engine takes at most 5"
        ]
    else:
        np.testing.assert_allclose(compile(model, on).run(x)[0], expected(x), 2e-6, 2e-6)
