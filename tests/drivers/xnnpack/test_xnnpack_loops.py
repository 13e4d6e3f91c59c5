"""Models with loops: their ends are the caller's, and the engine counts the turns in ends of its own."""

from typing import Any

import numpy as np

import nnapi
from nnapi import Builder, Model, tensor
from tests.drivers.xnnpack.engine_cases import engine, reference

FLOATS, COUNT = tensor("float32", (4,)), tensor("int32", (1,))


def doubled(turns: int) -> Model:
    """x doubled ``turns`` times, as signed bytes and as unsigned ones, and x as unsigned bytes."""
    condition, body, b = Builder("condition"), Builder("body"), Builder("doubled")
    count, _ = condition.input(COUNT), condition.input(FLOATS)
    condition.output(condition.less(count, np.array([turns], np.int32)))
    count, x = body.input(COUNT), body.input(FLOATS)
    body.output(body.add(count, np.array([1], np.int32), 0), body.add(x, x, 0))
    x = b.input(FLOATS)
    _, y = b.while_(condition.finish(), body.finish(), np.array([0], np.int32), x)
    signed, unsigned = tensor("quant8_asymm_signed", (4,), 0.5, -100), tensor("quant8_asymm", (4,), 0.5, 28)
    b.output(b.quantize(y, out=signed), b.quantize(y, out=unsigned), b.quantize(x, out=unsigned))
    return b.finish()


def run(model: Model, device: Any) -> list[list[int]]:
    with nnapi.compile(model, device, cache=False) as compiled:
        return [result.tolist() for result in compiled.run(np.array([0, 1, 2, -3], np.float32))]


def test_results_around_a_loop_have_their_own_types() -> None:
    expected = [[-100, -92, -84, -124], [28, 36, 44, 4], [28, 30, 32, 22]]
    assert run(doubled(2), reference()) == run(doubled(2), engine()) == expected
