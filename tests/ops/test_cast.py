"""CAST."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import assert_same, floats, ints, level, quickly, refuses_to_add, run, shapes

CAST = OperationCode.CAST
CODES = {"uint8": tensor("uint8", (), 0.5, 10)}
CONVERTED = CODES | {name: tensor(name) for name in ("float16", "float32", "int32")}
COPIED = {
    "bool8": tensor("bool8"),
    "quant16_asymm": tensor("quant16_asymm", (), 0.5, 10),
    "quant16_symm": tensor("quant16_symm", (), 0.5),
    "int8": tensor("int8", (), 0.5, 10),
    "quant8_symm": tensor("quant8_symm", (), 0.5),
}


def test_literal() -> None:
    x = floats([-1.9, 0.9, 255.9, 300])
    assert_same(run(CAST, x, out=tensor("int32")), np.array([-1, 0, 255, 300], np.int32))
    assert_same(run(CAST, x, out=CODES["uint8"]), np.array([0, 0, 255, 255], np.uint8))
    assert_same(run(CAST, ints(-7, 7, 1000), out=CODES["uint8"]), np.array([0, 7, 255], np.uint8))
    assert_same(
        run(CAST, (tensor("uint8", (2,), 0.5, 10), np.array([0, 11], np.uint8)), out=tensor("float32")),
        np.array([0, 11], np.float32),
    )


@quickly
@given(st.sampled_from(sorted(CONVERTED)), st.sampled_from(sorted(CONVERTED)), shapes(most=5), st.integers(0, 2**32))
def test_each_number_by_itself(source: str, target: str, shape: Any, seed: Any) -> None:
    random = np.random.default_rng(seed)
    low, high = (0, 256) if source == "uint8" else (-400, 400)
    x = random.uniform(low, high, shape).astype(CONVERTED[source].dtype)
    out = run(CAST, (CONVERTED[source].with_dimensions(shape), x), out=CONVERTED[target])
    meaning = {
        "float16": np.float16,
        "float32": float,
        "int32": int,
        "uint8": lambda number: min(max(int(number), 0), 255),
    }[target]
    expected = [meaning(number) for number in x.ravel().tolist()]  # type: ignore[operator]
    assert_same(out, np.array(expected, CONVERTED[target].dtype).reshape(shape))


@quickly
@given(st.sampled_from(sorted(COPIED)), shapes(), st.integers(0, 2**32))
def test_other_types_are_copied(kind: str, shape: Any, seed: Any) -> None:
    type = COPIED[kind]
    limits = np.iinfo(type.dtype)
    x = np.random.default_rng(seed).integers(limits.min, limits.max, shape, type.dtype, endpoint=True)
    assert_same(run(CAST, (type.with_dimensions(shape), x), out=type), x)


def test_what_int32_cannot_hold() -> None:
    x = floats([3e9, -3e9, np.inf, np.nan])
    assert run(CAST, x, out=tensor("int32")).tolist() == [2**31 - 1, -(2**31), 2**31 - 1, 0]


def test_scales_play_no_part() -> None:
    x = tensor("uint8", (2,), 0.5, 10), np.array([3, 200], np.uint8)
    assert run(CAST, x, out=tensor("uint8", (2,), 0.125, 77)).tolist() == [3, 200]


@pytest.mark.parametrize("kind", sorted(COPIED))
def test_other_types_are_not_converted(kind: str) -> None:
    refuses_to_add(f"out is {COPIED[kind].name}, must be", CAST, floats([1]), outs=[COPIED[kind]])
    x = COPIED[kind].with_dimensions((1,)), np.zeros(1, COPIED[kind].dtype)
    refuses_to_add("out is TENSOR_FLOAT32, must be", CAST, x, outs=[tensor("float32")])


def test_known_shapes_must_agree_when_added() -> None:
    out = [tensor("float32", (3,))]
    refuses_to_add("out has shape [3], must have that of input, [2]", CAST, floats([1, 2]), outs=out)


def test_levels() -> None:
    assert level(CAST, floats([1]), out=tensor("int32")) == 3
    assert [level(CAST, (type, None)) for type in COPIED.values()] == [4] * len(COPIED)
