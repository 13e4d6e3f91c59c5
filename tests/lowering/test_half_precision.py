"""float16 values that engines compute in float32 are rounded before operations whose results jump."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode as O
from nnapi.lowering.half_precision import HalfPrecision, find_half_precision
from nnapi.model.precision import Precision
from tests.engines import DEVICES, find_device

RANDOM = np.random.default_rng(5)
SHAPE = (32, 32)
HALF, FLOAT, WHOLE = (nnapi.tensor(kind, SHAPE) for kind in ("float16", "float32", "int32"))
Build = Callable[[Any, Any], Any]


def scaled(b: Any, p: Any) -> Any:
    return b.mul(p, b.constant(np.array([8], np.float16)), 0)


JUMPS: dict[str, Build] = {
    "CAST": lambda b, p: b.cast(p, out=WHOLE),
    "FLOOR": lambda b, p: b.floor(p),
    "EQUAL": lambda b, p: b.equal(p, b.floor(p)),
    "GREATER": lambda b, p: b.greater(p, b.constant(np.array([1], np.float16))),
    "LESS_EQUAL": lambda b, p: b.less_equal(b.transpose(p, [1, 0]), p),
    "ARGMAX": lambda b, p: b.argmax(p, 1),
    "TOPK_V2": lambda b, p: b.topk_v2(p, 5)[1],
    "QUANTIZE": lambda b, p: b.quantize(p, out=nnapi.tensor("int8", SHAPE, 1 / 16, 0)),
    "MAXIMUM FLOOR": lambda b, p: b.floor(b.maximum(p, b.neg(p))),
    "CAST to float32, FLOOR": lambda b, p: b.floor(b.cast(p, out=FLOAT)),
    "CAST from float32, CAST": lambda b, p: b.cast(b.cast(b.cast(p, out=FLOAT), out=HALF), out=FLOAT),
}


def model(jump: Build, *, is_given: bool = False) -> nnapi.Model:
    """A model of a computed float16 value and a jump of it, both as outputs; or of the jump alone."""
    b = nnapi.Builder()
    x, y = b.input(HALF), b.input(HALF)
    p = x if is_given else b.tanh(b.div(x, y, 0))
    b.output(*([] if is_given else [p]), jump(b, p))
    return b.finish()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", JUMPS)
def test_a_jump_sees_the_value_that_is_shown(device: str, name: str) -> None:
    """Many float32 values below 1 are 1 in float16. Halves are left out if QUANTIZE may round them to even."""
    random = np.random.default_rng(5)
    x, y = (random.normal(size=SHAPE).astype(np.float16) * scale for scale in (4, 1))
    shown, found = nnapi.compile(model(JUMPS[name]), find_device(device), cache=False).run(x, y)
    expected = nnapi.compile(model(JUMPS[name], is_given=True), "nnapi-reference").run(shown, y)[0]
    judged = np.abs(shown * 16) % 2 != 0.5 if name == "QUANTIZE" else np.full(found.shape, True)
    np.testing.assert_array_equal(found[judged], expected[judged])


def built(write: Build) -> nnapi.Model:
    b = nnapi.Builder()
    results = write(b, b.input(HALF))
    b.output(*(results if isinstance(results, list) else [results]))
    return b.finish()


def last(write: Build, *, casts_round: bool = True) -> tuple[HalfPrecision, Any]:
    """Return the record before the last operation, and that operation."""
    made = built(write)
    halves = HalfPrecision(made, casts_round=casts_round)
    for call in made.operations[:-1]:
        halves.accept(call)
    return halves, made.operations[-1]


@pytest.mark.parametrize(
    ("write", "is_rounded"),
    [
        (lambda b, x: b.floor(x), False),
        (lambda b, x: b.floor(b.exp(x)), True),
        (lambda b, x: b.sin(b.exp(x)), False),
        (lambda b, x: b.floor(b.transpose(b.neg(b.exp(x)), [1, 0])), True),
        (lambda b, x: b.floor(b.transpose(b.neg(x), [1, 0])), False),
        (lambda b, x: b.floor(b.relu(b.exp(x))), True),
        (lambda b, x: b.floor(b.floor(b.exp(x))), False),
        (lambda b, x: b.cast(b.exp(x), out=FLOAT), False),
        (lambda b, x: b.floor(b.cast(b.exp(x), out=FLOAT)), True),
        (lambda b, x: b.floor(b.exp(b.cast(b.exp(x), out=FLOAT))), False),
        (lambda b, x: b.floor(b.cast(b.exp(b.cast(x, out=FLOAT)), out=HALF)), False),
    ],
)
def test_where_values_are_rounded(write: Build, is_rounded: bool) -> None:
    halves, call = last(write)
    assert halves.list_rounded(call) == (frozenset(call.inputs[:1]) if is_rounded else frozenset())


def test_an_engine_whose_casts_do_not_round_rounds_what_they_give_later() -> None:
    halves, call = last(lambda b, x: b.cast(b.cast(b.cast(x, out=FLOAT), out=HALF), out=FLOAT), casts_round=False)
    assert halves.list_rounded(call) == {call.inputs[0]}
    halves, call = last(lambda b, x: b.sin(b.cast(b.cast(x, out=FLOAT), out=HALF)), casts_round=False)
    assert not halves.list_rounded(call)


def test_nothing_is_recorded_where_nothing_is_rounded() -> None:
    made = built(lambda b, x: b.floor(b.exp(x)))
    assert find_half_precision(made, None) is None
    assert find_half_precision(made, True) is not None
    b = nnapi.Builder()
    b.output(b.floor(b.input(FLOAT)))
    assert find_half_precision(b.finish(), True) is None


def test_a_model_that_permits_float16_is_not_rounded() -> None:
    b = nnapi.Builder()
    b.output(b.floor(b.exp(b.input(HALF))))
    b.model.permit_precision(Precision.FLOAT16)
    assert find_half_precision(b.finish(), True) is None


def test_exported_files_round_too(tmp_path: Path) -> None:
    x, y = (RANDOM.normal(size=SHAPE).astype(np.float16) * scale for scale in (4, 1))
    made = model(JUMPS["FLOOR"])
    nnapi.export(made, tmp_path / "model.tflite")
    again = nnapi.load(tmp_path / "model.tflite")
    assert [call.code for call in again.operations].count(O.CAST) >= 2
    shown, found = nnapi.compile(again, "nnapi-reference").run(x, y)
    np.testing.assert_array_equal(found, np.floor(shown))
