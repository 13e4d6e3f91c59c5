"""Composites are replaced by operations of NNAPI that compute the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, tensor
from nnapi.compiling import compile
from nnapi.lowering.expansion import expand, has_composites
from nnapi.model.builder import Tensor
from nnapi.model.model import Model
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import COMPOSITE_CODES, MODULES, NAMES, CompositeCode
from nnapi.testing.build import build
from nnapi.testing.random.calls import random_call
from nnapi.testing.random.subgraphs import find_given
from tests.rows import each_row

REFERENCE = "nnapi-reference"
X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)


def one(body: Callable[[Builder, Tensor], Tensor], shape: tuple[int, ...] = X.shape) -> Model:
    b = Builder()
    b.output(body(b, b.input(tensor("float32", shape))))
    return b.finish()


def run(model: Model, *inputs: Any) -> list[Any]:
    with compile(model, REFERENCE) as compiled:
        return compiled.run(*inputs)


VALUES_DECIDE = ["NON_MAX_SUPPRESSION", "NONZERO", "UNIQUE", "RANGE", "SHAPE", "ROI_ALIGN_V2"]
WHOLE = {CompositeCode[name] for name in [*VALUES_DECIDE, *MODULES["bits"]]}
"""Composites without a decomposition: most have results whose size depends on values; SHAPE returns such sizes, and
regions that ROI_ALIGN_V2 gets of others may lie outside the image. Others compute on bits."""


@pytest.mark.slow
@each_row("code", sorted(COMPOSITE_CODES), ids=lambda code: NAMES[code])
def test_random_calls_compute_what_their_decomposition_does(code: int) -> None:
    """The bound is that of float32 sums; operations that round or move values are exact."""
    random, compared = np.random.default_rng(code), 0
    for _ in range(12):
        example = random_call(REGISTRY[code], random)
        model = build(example)
        expansion = expand(model)
        if expansion.refusals:
            continue
        assert not has_composites(expansion.model)
        compared += 1
        inputs = [find_given(example, index) for index in example.main.inputs]
        for ours, right in zip(run(expansion.model, *inputs), run(model, *inputs), strict=True):
            known = np.abs(right[np.isfinite(right)])
            scale = max(1.0, float(known.max(initial=0)))
            limit = 1e-2 if right.dtype == np.float16 else 5e-6
            np.testing.assert_allclose(ours.astype(float), right.astype(float), atol=limit * scale, rtol=0)
    assert bool(compared) == (code not in WHOLE)


def test_other_operations_and_operands_stay() -> None:
    model = one(lambda b, x: b.add(b.ceil(b.relu(x)), x, 0))
    expanded, origins, refusals = expand(model)
    assert [call.name for call in expanded.operations] == ["RELU", "NEG", "FLOOR", "NEG", "ADD"]
    assert origins == (0, 1, 1, 1, 2)
    assert refusals == {}
    assert [each.type for each in expanded.operands[: len(model.operands)]] == [each.type for each in model.operands]
    np.testing.assert_array_equal(run(expanded, X)[0], np.ceil(np.maximum(X, 0)) + X)


def test_only_chosen_composites_are_replaced_and_the_model_is_the_same_each_time() -> None:
    model = one(lambda b, x: b.round(b.ceil(x)))
    chosen = frozenset({1})
    assert next(call.name for call in expand(model, chosen).model.operations) == "CEIL"
    assert has_composites(expand(model, chosen).model)
    assert expand(model, chosen).model is expand(model, chosen).model


def test_a_composite_of_unknown_dimensions_remains_with_the_reason() -> None:
    model = one(lambda b, x: b.round(x), (0, 4))
    expansion = expand(model)
    assert [call.name for call in expansion.model.operations] == ["ROUND"]
    assert list(expansion.refusals) == [0]
    assert "ROUND (#0)" in expansion.refusals[0]


def test_models_within_are_expanded() -> None:
    inner = one(lambda b, x: b.ceil(x))
    b = Builder()
    x, condition = b.input(tensor("float32", X.shape)), b.input(tensor("bool8", (1,)))
    b.output(*b.if_(condition, inner, inner, [x]))
    model = b.finish()
    assert has_composites(model)
    expanded = expand(model).model
    assert not has_composites(expanded)
    np.testing.assert_array_equal(run(expanded, X, np.array([True]))[0], np.ceil(X))


def test_constants_are_shared() -> None:
    b = Builder()
    x = b.input(tensor("float32", (1, 64)))
    weights = b.constant(np.ones((64, 64), np.float32))
    b.output(b.gelu(b.fully_connected(x, weights, b.constant(np.zeros(64, np.float32)), 0), approximate=True))
    model = b.finish()
    given, kept = (
        [o.value for o in each.operands if o.type.dimensions == (64, 64)] for each in (model, expand(model).model)
    )
    assert len(given) == len(kept) == 1
    assert np.shares_memory(given[0], kept[0])


def test_a_composite_remains_if_one_of_its_parts_does() -> None:
    """A large float16 image is sampled in float32, which has no decomposition either."""
    b = Builder()
    x, grid = b.input(tensor("float16", (1, 4096, 4096, 1))), b.input(tensor("float32", (1, 1, 1, 2)))
    b.output(b.grid_sample(x, grid, 0, 0, False))
    model = b.finish()
    found = expand(model)
    assert [call.name for call in found.model.operations] == ["GRID_SAMPLE"]
    assert "its images have too many pixels" in found.refusals[0]
