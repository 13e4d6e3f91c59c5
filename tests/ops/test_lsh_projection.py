"""LSH_PROJECTION."""

import re
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.errors import OpFailedError
from nnapi.model.operand import OperandType, tensor
from nnapi.ops.farmhash import fingerprint64
from tests.ops.recurrent_cases import quickly
from tests.single import run_single, scalar

SPARSE_DEPRECATED, DENSE, SPARSE = 1, 2, 3
HASH = np.array([[0.123, 0.456], [-0.321, -0.654]], np.float32)
ITEMS = np.array([[1, 2], [3, 4], [5, 6]], np.int32)
CODES = {
    np.dtype(np.float32): OperandCode.TENSOR_FLOAT32,
    np.dtype(np.float16): OperandCode.TENSOR_FLOAT16,
    np.dtype(np.int32): OperandCode.TENSOR_INT32,
    np.dtype(np.uint8): OperandCode.TENSOR_QUANT8_ASYMM,
}


def project(hash: Any, items: Any, weight: Any, kind: int) -> Any:
    inputs = []
    for array in (hash, items, weight):
        if array is None:
            inputs.append((OperandType(CODES[hash.dtype], (0,)), None))
        else:
            scale = 1.0 if array.dtype == np.uint8 else 0.0
            inputs.append((OperandType(CODES[array.dtype], array.shape, scale), array))
    (out,) = run_single(Op.LSH_PROJECTION, [*inputs, scalar(OperandCode.INT32, kind)], [tensor("int32")])
    return out


def bits_by_hand(hash: Any, items: Any, weight: Any) -> list[int]:
    """One bit for each seed: the sign of the sum of weighted signed hashes, as exact as Python's integers."""
    bits = []
    for seed in hash.astype(np.float32).ravel():
        total = 0
        for item, factor in zip(items, weight, strict=True):
            key = struct.pack("<f", seed) + np.ascontiguousarray(item).tobytes()
            (unsigned,) = fingerprint64(np.frombuffer(key, np.uint8)[np.newaxis]).tolist()
            total += float(factor) * (unsigned - 2**64 if unsigned >= 2**63 else unsigned)
        bits.append(int(total > 0))
    return bits


def test_literal() -> None:
    # The published FarmHash gives, over 2^63, for the four seeds: (0.996, 0.997, 0.037), (0.638, -0.521, -0.488),
    # (-0.730, 0.919, -0.177), (0.110, 0.615, -0.247), with sums 2.03, -0.37, 0.01, 0.48.
    assert project(HASH, ITEMS, None, SPARSE_DEPRECATED).tolist() == [0b10, 0b11]
    assert project(HASH, ITEMS, None, SPARSE).tolist() == [0b10, 0b11 + 4]
    assert project(HASH, ITEMS, np.array([-1, 0.5, 0], np.float32), DENSE).tolist() == [0, 0, 1, 1]


@quickly
@given(
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 20),
    st.booleans(),
    st.sampled_from([np.float32, np.float16]),
    st.sampled_from(list(CODES)),
    st.integers(0, 2**32),
)
def test_against_one_key_at_a_time(
    count: int, width: int, items: int, dimension: int, weighted: bool, hash_type: Any, item_type: Any, seed: int
) -> None:
    random = np.random.default_rng(seed)
    hash = random.normal(size=(count, width)).astype(hash_type)
    x = random.integers(0, 200, (items, dimension)).astype(item_type)
    weight = random.normal(size=items).astype(hash_type) if weighted else None
    bits = bits_by_hand(hash, x, np.ones(items) if weight is None else weight)
    assert project(hash, x, weight, DENSE).tolist() == bits
    packed = [int("".join(map(str, bits[h * width : (h + 1) * width])), 2) for h in range(count)]
    assert project(hash, x, weight, SPARSE_DEPRECATED).tolist() == packed
    assert project(hash, x, weight, SPARSE).tolist() == [h * 2**width + code for h, code in enumerate(packed)]


def test_a_signature_of_32_bits_fills_the_sign() -> None:
    hash = np.linspace(-1, 1, 32, dtype=np.float32)[np.newaxis]
    (signature,) = project(hash, ITEMS, None, SPARSE_DEPRECATED).tolist()
    assert f"{signature % 2**32:032b}" == "".join(map(str, project(hash, ITEMS, None, DENSE)))


@pytest.mark.parametrize(
    ("hash", "weight", "kind", "message"),
    [
        (HASH, None, 0, "type is 0, must be one of 1, 2, 3"),
        (HASH, np.array([1, 1], np.float32), DENSE, "weight has shape [2], must be [3]"),
        (np.zeros((1, 33), np.float32), None, DENSE, "hash has shape [1, 33], which takes 33 bits, more than 32"),
        (np.zeros((5, 30), np.float32), None, SPARSE, "hash has shape [5, 30], which takes 33 bits, more than 32"),
        (np.zeros(3, np.float32), None, DENSE, "hash has rank 1, must have rank 2"),
    ],
)
def test_refusals(hash: Any, weight: Any, kind: int, message: str) -> None:
    with pytest.raises(OpFailedError, match=re.escape(message)):
        project(hash, ITEMS, weight, kind)
