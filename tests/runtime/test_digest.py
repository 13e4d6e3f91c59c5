"""Digests: what changes them, how large data are taken in, and that they are made once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi import Builder, Model, tensor
from nnapi.runtime import digest as module
from nnapi.runtime.digest import LARGE, WIDTH, WORD, content_hash, digest, sha256

ROW = WIDTH * WORD
SIZE = 5 * ROW + 77
DATA = np.random.default_rng(0).integers(0, 256, SIZE).astype(np.uint8)


def weighted(weights: np.ndarray) -> Model:  # type: ignore[type-arg]
    b = Builder()
    b.output(b.mul(b.input(tensor("float32", weights.shape)), weights))
    return b.finish()


def test_it_is_sha_256() -> None:
    assert sha256(b"abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@given(st.integers(0, SIZE - 1), st.integers(1, 255))
def test_any_byte_changes_it(place: int, by: int) -> None:
    assert SIZE >= LARGE
    changed = DATA.copy()
    changed[place] ^= by
    assert digest(changed) != digest(DATA)


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, WIDTH - 1), st.integers(0, WIDTH - 1))
def test_words_that_change_places_change_it(row: int, other: int, column: int, beside: int) -> None:
    changed = DATA.copy()
    words = changed[: 5 * ROW].view(np.uint64).reshape(5, WIDTH)
    words[row, column], words[other, beside] = words[other, beside], words[row, column]
    assert (digest(changed) == digest(DATA)) == ((row, column) == (other, beside))


@pytest.mark.parametrize("size", [0, 1, LARGE - 1, LARGE, LARGE + 1, ROW * 9])
def test_lengths_and_bounds_between_parts_count(size: int) -> None:
    data = bytes(size + 1)
    made = [digest(data[:size]), digest(data), digest(data[:size], b""), digest(b"", data[:size])]
    assert len(set(made)) == len(made) - (size == 0)
    assert digest(bytes(size)) == digest(bytearray(size)) == digest(np.zeros(size, np.uint8))


def test_large_constants_count_in_every_place() -> None:
    weights = np.ones((8, ROW), np.float32)
    first = content_hash(weighted(weights))
    assert content_hash(weighted(weights.copy())) == first
    for place in ((0, 0), (7, ROW - 1), (3, 77)):
        changed = weights.copy()
        changed[place] = 1.5
        assert content_hash(weighted(changed)) != first
    assert content_hash(weighted(weights.reshape(16, -1))) != first


def test_it_is_made_once_for_each_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model = weighted(np.ones((2, 2), np.float32))
    first = content_hash(model)
    monkeypatch.setattr(module, "digest", lambda *parts: b"another")
    assert content_hash(model) == first
    assert content_hash(weighted(np.ones((2, 2), np.float32))) == b"another"
