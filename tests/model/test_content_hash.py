"""Digests of models: what changes them, and that they are made once."""

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.model import content_hash as module
from nnapi.model.content_hash import hash_content


def weighted(weights: np.ndarray) -> Model:
    b = Builder()
    b.output(b.mul(b.input(tensor("float32", weights.shape)), weights))
    return b.finish()


def test_matrices_with_the_same_sums_of_rows_and_columns_differ() -> None:
    """Permutations differ in nothing but the places of their ones."""
    identity = np.eye(1024, dtype=np.float32)
    swapped = identity.reshape(256, 4, 1024)[:, [2, 1, 0, 3]].reshape(1024, 1024)
    assert hash_content(weighted(swapped)) != hash_content(weighted(identity))


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
    monkeypatch.setattr(module, "digest_each", lambda parts: b"another")
    assert hash_content(model) == first
    assert hash_content(weighted(np.ones((2, 2), np.float32))) == b"another"
