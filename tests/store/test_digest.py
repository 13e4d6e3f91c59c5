"""Digests: every byte and every bound between parts changes them."""

import struct

import numpy as np
import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from nnapi.store.digest import digest

SIZE = 5 * 4096 + 77
DATA = np.random.default_rng(0).integers(0, 256, SIZE).astype(np.uint8)


def test_it_is_blake3() -> None:
    """Of the parts, each behind its length in 8 bytes."""
    assert digest() == blake3(b"").digest()
    assert digest(b"ab", b"") == blake3(struct.pack("<Q", 2) + b"ab" + struct.pack("<Q", 0)).digest()


@given(st.integers(0, SIZE - 1), st.integers(1, 255))
def test_any_byte_changes_it(place: int, by: int) -> None:
    changed = DATA.copy()
    changed[place] ^= by
    assert digest(changed) != digest(DATA)


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 9 * 4096])
def test_lengths_and_bounds_between_parts_count(size: int) -> None:
    data = bytes(size + 1)
    made = [digest(data[:size]), digest(data), digest(data[:size], b""), digest(b"", data[:size])]
    assert len(set(made)) == len(made) - (size == 0)
    assert digest(bytes(size)) == digest(bytearray(size)) == digest(np.zeros(size, np.uint8))


def test_matrices_with_the_same_sums_of_rows_and_columns_have_different_digests() -> None:
    """Permutations differ in nothing but the positions of their ones."""
    identity = np.eye(1024, dtype=np.float32)
    swapped = identity.reshape(256, 4, 1024)[:, [2, 1, 0, 3]].reshape(1024, 1024)
    assert digest(swapped) != digest(identity)
