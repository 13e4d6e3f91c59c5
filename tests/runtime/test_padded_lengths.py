"""Padding of inputs that grow by one at each run: where it changes nothing it serves many lengths, else it is left."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nnapi.contract.driver import Bound
from nnapi.errors import BadDataError
from nnapi.runtime.padded_lengths import (
    BUCKET,
    Axis,
    Growth,
    Padded,
    bucket_for,
    find_growth,
    find_lengths,
    shorten,
    try_padding,
)

Arrays = list[np.ndarray[Any, Any]]


def attend(inputs: Any) -> Arrays:
    """One step of attention: the new key behind the past ones, what the mask excludes left out."""
    past, key, mask = inputs
    keys = np.concatenate([past, key])
    scores = np.where(mask != 0, keys @ key[0], -np.inf)
    weights = np.exp(scores - scores.max())
    return [weights / weights.sum() @ keys, keys]


def bind(function: Any, inputs: Arrays, memories: list[Arrays] | None = None) -> Any:
    """Run a function on memory of the types of ``inputs``, its results in memory that the next run overwrites."""

    def made(shapes: Any) -> Bound:
        memory = [np.zeros(shape, array.dtype) for shape, array in zip(shapes, inputs, strict=True)]
        results: Arrays = []
        if memories is not None:
            memories.append(memory)

        def run() -> Arrays:
            for array in results:
                array[...] = 0
            results[:] = function(memory)
            return results

        return Bound(memory, run)

    return made


def step(length: int) -> Arrays:
    rng = np.random.default_rng(length)
    return [
        rng.normal(size=(length, 4)).astype(np.float32),
        rng.normal(size=(1, 4)).astype(np.float32),
        np.ones(length + 1, np.int32),
    ]


def shapes(arrays: Sequence[Any]) -> Any:
    return tuple(array.shape for array in arrays)


def test_axes_that_grow_together_are_found() -> None:
    growth = find_growth(shapes(step(5)), shapes(step(6)))
    assert growth is not None
    assert growth.axes == (Axis(0, 0, 0), Axis(2, 0, 1))
    assert growth.at(9) == ((9, 4), (1, 4), (10,))
    assert growth.length_of(shapes(step(30))) == 30
    assert growth.length_of(((9, 4), (1, 4), (9,))) is None


@pytest.mark.parametrize(
    "now",
    [((5, 4),), ((7, 4),), ((6, 5, 1),), ((4, 4),), ((6, 6),)],
    ids=["same", "by two", "rank", "shorter", "mixed"],
)
def test_other_changes_are_not_growth(now: Any) -> None:
    assert find_growth(((5, 4),), now) is None
    assert find_growth(None, now) is None


def test_a_batch_is_not_a_length() -> None:
    assert find_growth(((5, 4), (5, 3)), ((6, 4), (6, 3))) is None
    assert find_growth(((5, 4), (5,)), ((6, 4), (6,))) is not None


def test_a_mask_makes_padding_exact() -> None:
    growth = find_growth(shapes(step(5)), shapes(step(6)))
    assert growth is not None
    padded = try_padding(growth, step(6), attend, bind(attend, step(6)), BUCKET)
    assert padded is not None
    lengths = (1, 6, 40, BUCKET, 3)
    results = [padded.run(step(length), length) for length in lengths]
    for length, found in zip(lengths, results, strict=True):
        for ours, exact in zip(found, attend(step(length)), strict=True):
            np.testing.assert_allclose(ours, exact, 1e-5, 1e-6)
    assert padded.length_of(shapes(step(BUCKET))) == BUCKET
    assert padded.length_of(shapes(step(BUCKET + 1))) is None


@pytest.mark.parametrize(
    "function",
    [
        lambda inputs: [inputs[0].mean(0)],
        lambda inputs: [np.concatenate(inputs[:2]).sum(0)],
        lambda inputs: [inputs[0] * len(inputs[0])],
        lambda inputs: [np.zeros(2 * len(inputs[0]), np.float32)],
    ],
    ids=["mean", "sum", "length", "shape"],
)
def test_padding_that_shows_is_refused(function: Any) -> None:
    growth = find_growth(shapes(step(5)), shapes(step(6)))
    assert growth is not None
    assert try_padding(growth, step(6), function, bind(function, step(6)), BUCKET) is None


def test_padded_runs_share_memory_and_zeros_replace_what_a_longer_run_left() -> None:
    growth = find_growth(shapes(step(5)), shapes(step(6)))
    assert growth is not None
    memories: list[Arrays] = []
    padded = try_padding(growth, step(6), attend, bind(attend, step(6), memories), BUCKET)
    assert padded is not None
    for length in (40, 7):
        padded.run(step(length), length)
    [(past, _, mask)] = memories
    np.testing.assert_array_equal(past[:7], step(7)[0])
    assert not past[7:].any()
    assert mask.tolist() == [1] * 7 + [0] * (BUCKET - 7) + [1]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_further_inputs_that_grow_mask_the_padding(dtype: Any) -> None:
    """They are the constants of a run's length: a bias of each score, and a table of two growing axes."""

    def attend_by_bias(inputs: Any) -> Arrays:
        past, key, bias, table = inputs
        keys = np.concatenate([past, key])
        scores = keys @ key[0] + bias + table[-1]
        weights = np.exp(scores - scores.max())
        return [weights / weights.sum() @ keys]

    def further(shapes: Any) -> Arrays:
        total = shapes[0][0] + 1
        return [
            np.linspace(-1, 0, total, dtype=dtype),
            np.arange(total * total, dtype=dtype).reshape(total, total) / 99,
        ]

    growth = Growth((Axis(0, 0, 0),), shapes(step(6)[:2]))
    bound = bind(attend_by_bias, [*step(6)[:2], *further(shapes(step(6)))])
    made = try_padding(
        growth, step(6)[:2], lambda inputs: attend_by_bias([*inputs, *further(shapes([*inputs]))]),
        lambda wide: bound((*wide, (BUCKET + 1,), (BUCKET + 1, BUCKET + 1))), BUCKET, further,
    )  # fmt: skip
    assert made is not None
    for length in (40, 7, BUCKET):
        given = step(length)[:2]
        exact = attend_by_bias([*given, *further(shapes(given))])
        np.testing.assert_allclose(made.run(given, length)[0], exact[0], 1e-4, 1e-5)


def test_a_constant_that_grows_in_another_way_is_refused() -> None:
    growth = find_growth(shapes(step(5)), shapes(step(6)))
    assert growth is not None
    with pytest.raises(BadDataError, match="does not grow with the length"):
        Padded(growth, BUCKET, bind(attend, step(6)), (), lambda shapes: [np.zeros(2 * shapes[0][0], np.float32)])


def test_several_axes_of_one_input_are_padded() -> None:
    def add(inputs: Any) -> Arrays:
        return [inputs[0].sum() + inputs[1].sum(keepdims=True)]

    def square(length: int) -> Arrays:
        return [np.ones((length, length), np.int32), np.ones((1, length), np.int32)]

    growth = find_growth(shapes(square(5)), shapes(square(6)))
    assert growth is not None
    padded = try_padding(growth, square(6), add, bind(add, square(6)), BUCKET)
    assert padded is not None
    assert [padded.run(square(length), length)[0].item() for length in (50, 3, 9)] == [2550, 12, 90]


def test_inputs_are_shortened_along_all_growing_axes() -> None:
    growth = find_growth(shapes(step(5)), shapes(step(6)))
    assert growth is not None
    assert shapes(shorten(growth, step(6))) == shapes(step(5))


def test_one_length_behind_the_batch_is_found() -> None:
    declared = ((0, 0, 4), (1, 4), (0,))
    growth = find_lengths(declared, ((1, 6, 4), (1, 4), (7,)))
    assert growth.axes == (Axis(0, 1, 0), Axis(2, 0, 1))
    assert growth.at(64) == ((1, 64, 4), (1, 4), (65,))


@pytest.mark.parametrize("shape", [(1, 6, 9), (1, 3, 4)])
def test_several_lengths_are_refused(shape: Any) -> None:
    with pytest.raises(BadDataError, match="one dynamic length behind the batch; the lengths are"):
        find_lengths(((1, 0, 0), (0, 4)) if shape[2] == 9 else ((1, 3, 4), (0, 4)), (shape, (1, 4)))


def test_a_bucket_has_room_for_the_tokens_that_follow() -> None:
    assert bucket_for(2) == BUCKET
    assert bucket_for(3) == 2 * BUCKET
