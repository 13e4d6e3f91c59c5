"""EMBEDDING_LOOKUP, HASHTABLE_LOOKUP, LSH_PROJECTION, REVERSE and TOPK_V2 on the engine."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from tests.drivers.xnnpack.engine_cases import agree, both, engine, refusal
from tests.rows import each_row
from tests.single import run_single, scalar, single

TYPES = {
    "float32": tensor("float32"),
    "int32": tensor("int32"),
    "uint8": tensor("uint8", (), 0.5, 3),
    "int8": tensor("int8", (), 0.5, -3),
}


def run(code: Any, inputs: list[Any], *outputs: Any) -> None:
    agree(code, inputs, list(outputs))


def few(type: Any, *shape: int) -> tuple[Any, ...]:
    """Values with many equal ones among them, the lowest and the highest of the type too."""
    random = np.random.default_rng(sum(shape))
    values = random.integers(0, 4, shape).astype(type.dtype)
    if type.dtype.kind != "f":
        values.flat[:2] = np.iinfo(type.dtype).min, np.iinfo(type.dtype).max
    return type.with_dimensions(shape), values


@pytest.mark.parametrize("name", TYPES)
def test_embedding_lookup(name: str) -> None:
    lookups = tensor("int32", (4,)), np.array([2, 0, 2, 4], np.int32)
    run(Op.EMBEDDING_LOOKUP, [lookups, few(TYPES[name], 5, 2, 3)], TYPES[name])


@pytest.mark.parametrize("row", [-1, 5])
def test_embedding_lookup_fails_on_rows_that_there_are_not(row: int) -> None:
    lookups = tensor("int32", (2,)), np.array([0, row], np.int32)
    with pytest.raises(OpFailedError):
        run_single(
            Op.EMBEDDING_LOOKUP,
            [lookups, few(TYPES["float32"], 5, 2)],
            [TYPES["float32"]],
            constant=True,
            devices=[engine()],
        )


@pytest.mark.parametrize("name", ["float32", "int32"])
def test_hashtable_lookup(name: str) -> None:
    lookups = tensor("int32", (5,)), np.array([1234, -292, -11111, 0, 5], np.int32)
    keys = tensor("int32", (3,)), np.array([-11111, 0, 1234], np.int32)
    run(Op.HASHTABLE_LOOKUP, [lookups, keys, few(TYPES[name], 3, 2)], TYPES[name], tensor("uint8", (), 1.0, 0))


@pytest.mark.parametrize(
    ("keys", "constant", "message"),
    [
        ([5, 1, 7], True, "keys are not in ascending order"),
        ([1, 1, 7], True, "keys are not in ascending order"),
        ([1, 5, 7], False, "keys is computed, the engine needs it constant"),
    ],
)
def test_hashtable_lookup_refuses_keys_that_it_may_not_find(keys: list[int], constant: bool, message: str) -> None:
    inputs = [few(tensor("int32"), 2), (tensor("int32", (3,)), np.array(keys)), few(TYPES["float32"], 3, 2)]
    results = [TYPES["float32"], tensor("uint8", (), 1.0, 0)]
    assert message in refusal(single(Op.HASHTABLE_LOOKUP, inputs, results, constant=constant))


def test_hashtable_lookup_refuses_codes() -> None:
    """A missing key has the code 0 whatever the zero point; the engine's 0 is another code's."""
    keys = tensor("int32", (3,)), np.array([1, 5, 7])
    inputs = [few(tensor("int32"), 2), keys, few(TYPES["uint8"], 3, 2)]
    model = single(Op.HASHTABLE_LOOKUP, inputs, [TYPES["uint8"], tensor("uint8", (), 1.0, 0)], constant=True)
    assert "other quantized values for keys that are missing" in refusal(model)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_reverse(name: str, axis: int) -> None:
    along = tensor("int32", (1,)), np.array([axis], np.int32)
    run(Op.REVERSE, [few(TYPES[name], 2, 3, 4), along], TYPES[name])


@each_row("name", TYPES)
@each_row("shape", [(9,), (3, 8), (2, 3, 7)])
@each_row("k", [1, 3, 7])
def test_top_k(name: str, shape: tuple[int, ...], k: int) -> None:
    type, values = few(TYPES[name], *shape)
    run(Op.TOPK_V2, [(type, values), scalar(OperandCode.INT32, k)], TYPES[name], tensor("int32"))


def test_of_equal_values_the_last_comes_first() -> None:
    type = tensor("float32", (5,))
    model = single(
        Op.TOPK_V2, [(type, np.zeros(5)), scalar(OperandCode.INT32, 2)], [tensor("float32"), tensor("int32")]
    )
    for values, indices in both(model, np.array([1, 3, 3, 0, 3], np.float32)):
        assert (values.tolist(), indices.tolist()) == ([3, 3], [4, 2])


@pytest.mark.parametrize("kind", [2, 3])
@pytest.mark.parametrize(
    "weight", [(tensor("float32", (4,)), np.array([0.5, -2, 1, 3], np.float32)), (tensor("float32"), None)]
)
def test_lsh_projection(kind: int, weight: Any) -> None:
    """Without weights each item counts once."""
    seeds = tensor("float32", (3, 2)), np.arange(6, dtype=np.float32).reshape(3, 2) / 7
    items = tensor("int32", (4, 2)), np.arange(8, dtype=np.int32).reshape(4, 2)
    run(Op.LSH_PROJECTION, [seeds, items, weight, scalar(OperandCode.INT32, kind)], tensor("int32"))


def test_lsh_projection_refuses_what_is_stored_otherwise() -> None:
    """Its bytes are hashed."""
    seeds = tensor("float32", (3, 2)), np.arange(6, dtype=np.float32).reshape(3, 2) / 7
    items = tensor("float16", (4, 2)), np.arange(8, dtype=np.float16).reshape(4, 2)
    inputs = [seeds, items, (tensor("float32"), None), scalar(OperandCode.INT32, 3)]
    assert "the bytes of input are hashed" in refusal(single(Op.LSH_PROJECTION, inputs, [tensor("int32")]))
