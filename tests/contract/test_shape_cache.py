"""A cache bounded by bytes, and the estimated size of a compilation."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi.contract import shape_cache
from nnapi.contract.shape_cache import LEAST_SHAPES, OVERHEAD, VALUES, ShapeCache, estimate_size
from nnapi.model.lazy_model import LazyModel
from nnapi.model.model import Model
from nnapi.model.operand import tensor


def fill(sizes: list[int]) -> tuple[ShapeCache[int, str], list[str]]:
    """A cache of objects with these sizes, numbered from 0, and the names of those that were dropped."""
    cache = ShapeCache[int, str](lambda key, made: sizes[key])
    return cache, [name for key in range(len(sizes)) for name in cache.keep(key, f"number {key}")]


def test_what_was_used_longest_ago_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_cache, "MOST_BYTES", 60)
    sizes = [10, 10, 10, 10, 10, 10, 25]
    cache = ShapeCache[int, str](lambda key, made: sizes[key])
    for key in range(6):
        assert cache.keep(key, f"number {key}") == []
    assert cache.get(0) == "number 0"
    assert cache.keep(6, "large") == ["number 1", "number 2", "number 3"]
    assert [key for key, _ in cache.items()] == [4, 5, 0, 6]
    assert cache.get(1) is None
    assert 1 not in cache


def test_a_few_large_objects_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_cache, "MOST_BYTES", 60)
    cache, dropped = fill([100] * 6)
    assert dropped == ["number 0", "number 1"]
    assert len(cache) == LEAST_SHAPES


def test_a_cache_may_have_a_size_of_its_own() -> None:
    cache = ShapeCache[int, str](lambda key, made: 10, 50)
    assert [cache.keep(key, f"number {key}") for key in range(6)] == [[]] * 5 + [["number 0"]]


def test_a_replaced_object_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_cache, "MOST_BYTES", 60)
    cache, _ = fill([10] * 6)
    for _ in range(3):
        assert cache.keep(2, "another") == []
    assert cache.values()[-1] == "another"
    assert cache.clear() == ["number 0", "number 1", "number 3", "number 4", "number 5", "another"]
    assert not len(cache)
    assert cache.keep(5, "number 5") == []


def test_the_size_of_a_compilation() -> None:
    """Its constants, and values in proportion to its inputs."""
    model = Model()
    model.add_constant(tensor("float32", (100,)), np.zeros(100, np.float32))
    assert estimate_size(model, [(2, 3), None, ()]) == OVERHEAD + 400 + VALUES * 7


def test_the_size_of_a_model_that_was_not_read() -> None:
    """That of its file: reading it would take longer than it saves."""
    model: Any = LazyModel("m", [], [], lambda: pytest.fail("it was read"))
    assert estimate_size(model, []) == OVERHEAD
    model.origin = SimpleNamespace(file_size=700)
    assert estimate_size(model, [(2,)]) == OVERHEAD + VALUES * 2 + 700
