"""Digests: what changes them, and that they are made once."""

import struct

import numpy as np
import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from nnapi import Builder, Model, tensor
from nnapi.runtime.store import digest as module
from nnapi.runtime.store.digest import digest, hash_content

SIZE = 5 * 4096 + 77
DATA = np.random.default_rng(0).integers(0, 256, SIZE).astype(np.uint8)


def weighted(weights: np.ndarray) -> Model:
    b = Builder()
    b.output(b.mul(b.input(tensor("float32", weights.shape)), weights))
    return b.finish()


def test_it_is_blake3() -> None:
    """Of the parts, each behind its length in 8 bytes."""
    assert digest() == blake3(b"").digest()
    assert digest(b"ab", b"") == blake3(struct.pack("<Q", 2) + b"ab" + struct.pack("<Q", 0)).digest()


@given(st.integers(0, SIZE - 1), st.integers(1, 255))
def test_any_byte_changes_it(place: int, by: int) -> None:
    changed = DATA.copy()
    changed[place] ^= by
    assert digest(changed) != digest(DATA)


def test_matrices_with_the_same_sums_of_rows_and_columns_differ() -> None:
    """Permutations differ in nothing but the places of their ones."""
    identity = np.eye(1024, dtype=np.float32)
    swapped = identity.reshape(256, 4, 1024)[:, [2, 1, 0, 3]].reshape(1024, 1024)
    assert hash_content(weighted(swapped)) != hash_content(weighted(identity))
    assert digest(swapped) != digest(identity)


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 9 * 4096])
def test_lengths_and_bounds_between_parts_count(size: int) -> None:
    data = bytes(size + 1)
    made = [digest(data[:size]), digest(data), digest(data[:size], b""), digest(b"", data[:size])]
    assert len(set(made)) == len(made) - (size == 0)
    assert digest(bytes(size)) == digest(bytearray(size)) == digest(np.zeros(size, np.uint8))


def test_large_constants_count_in_every_place() -> None:
    weights = np.ones((8, 4096), np.float32)
    first = hash_content(weighted(weights))
    assert hash_content(weighted(weights.copy())) == first
    for place in ((0, 0), (7, 4095), (3, 77)):
        changed = weights.copy()
        changed[place] = 1.5
        assert hash_content(weighted(changed)) != first
    assert hash_content(weighted(weights.reshape(16, -1))) != first


def test_it_is_made_once_for_each_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model = weighted(np.ones((2, 2), np.float32))
    first = hash_content(model)
    monkeypatch.setattr(module, "_digest_each", lambda parts: b"another")
    assert hash_content(model) == first
    assert hash_content(weighted(np.ones((2, 2), np.float32))) == b"another"
