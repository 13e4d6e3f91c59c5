"""Compilations by shapes: made once each, the last few kept, one of them for many lengths where padding is exact."""

import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.contract import shape_cache
from nnapi.contract.shape_cache import LEAST_SHAPES, OVERHEAD, VALUES
from nnapi.errors import BadDataError
from nnapi.runtime.padded_lengths import BUCKET
from nnapi.runtime.specializations import Specializations
from tests.runtime.specialization_cases import Clocked, Compiled


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The shapes that were compiled for, on a clock that stands still."""
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    return []


def specialized(function: Any, made: list[Any], bucketed: Any = None) -> Specializations:
    def compile(shapes: Any, device: str | None, is_cached: bool) -> Any:
        made.append(shapes)
        return Compiled(function)

    return Specializations(compile, bucketed)


def noting(asked: list[str | None], refused: str | None = "") -> Specializations:
    """Compilations for a device of their own each, after its number; ``refused`` is a device that takes nothing."""

    def compile(shapes: Any, device: str | None, is_cached: bool) -> Any:
        asked.append(device)
        if device == refused:
            raise BadDataError("not on this one")
        return Compiled(np.negative, str(len(asked)))

    return Specializations(compile)


def test_each_shape_is_compiled_once_and_kept_up_to_a_size(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_cache, "MOST_BYTES", 20 * (OVERHEAD + 50 * VALUES))
    found = specialized(np.negative, made)
    for size in (1, 3, 1, 3, 5):
        found.run([np.ones(size)])
    assert made == [((1,),), ((3,),), ((5,),)]
    for size in range(7, 7 + 2 * 20, 2):
        found.run([np.ones(size)])
    assert len(found) == 20
    found.run([np.ones(1)])
    assert made[-1] == ((1,),)
    assert found.explain().endswith("inputs [1]: compiled in 0.00 s, 1 run\nall of it here")


def test_64_lengths_take_two_compilations(made: list[Any]) -> None:
    found = specialized(np.negative, made)
    for size in range(1, 65):
        np.testing.assert_array_equal(found.run([np.arange(size, dtype=np.float32)])[0], -np.arange(size))
    assert made == [((1,),), ((64,),)]
    assert "inputs [64]: compiled in 0.00 s, 63 runs, padded from any length up to 64" in found.explain()
    found.clear()
    assert len(found) == 0


def test_a_run_of_the_padded_length_uses_the_padded_memory(made: list[Any]) -> None:
    """The last token of a decoder fits exactly: another instance of the engine would be made for it."""
    found = specialized(np.negative, made)
    for size in (1, 2):
        found.run([np.ones(size, np.float32)])
    wide: Any = found.at(((64,),))
    wide.run = None
    np.testing.assert_array_equal(found.run([np.ones(64, np.float32)])[0], -np.ones(64))


def test_lengths_that_cannot_be_padded_are_compiled_each(made: list[Any]) -> None:
    found = specialized(np.sum, made)
    for size in (1, 2, 3, 4):
        assert found.run([np.ones(size, np.float32)])[0] == size
    assert made == [((1,),), ((64,),), ((2,),), ((3,),), ((4,),)]


def test_a_length_that_runs_for_long_gets_its_own(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its padded runs have taken as long as the compilation."""
    found = specialized(np.negative, made)
    for size in (1, 2):
        found.run([np.ones(size, np.float32)])
    ticks = iter(range(100))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    for _ in range(3):
        found.run([np.ones(2, np.float32)])
    assert made == [((1,),), ((64,),), ((2,),)]


def test_similar_shapes_may_take_the_same_device() -> None:
    """That of the compilation with about as many elements, and for padding that of the one without."""
    asked: list[str | None] = []
    made = noting(asked)
    for size in (10, 30, 500, 9):
        made.at(((size,),))
    assert asked[:3] == [None, "1", None]
    made.clear()
    exact: Any = made.at(((1,),))
    for size in (1, 2):
        made.run([np.ones(size, np.float32)])
    assert asked[-1] == exact.plan.devices[0]
    assert exact.is_pinned


def test_shapes_without_elements_tell_no_device_for_others() -> None:
    """A prompt with an empty past runs on the CPU; the tokens behind it must not follow it there."""
    asked: list[str | None] = []
    made = noting(asked)
    for past in (0, 1, 0):
        made.at(((12,), (past,)))
    assert asked == [None, None]
    made.clear()
    token = np.ones(1, np.float32)
    made.run([token[:0]])
    made.run([token])
    assert asked[2:] == [None, None]


def test_all_devices_are_asked_where_the_one_refuses() -> None:
    asked: list[str | None] = []
    made = noting(asked, refused="1")
    made.at(((10,),))
    made.at(((9,),))
    assert asked == [None, "1", None]


def test_no_device_is_taken_over_from_several() -> None:
    asked: list[str | None] = []

    def compile(shapes: Any, device: str | None, is_cached: bool) -> Any:
        asked.append(device)
        return Compiled(np.negative, "one", "another")

    made = Specializations(compile)
    made.at(((10,),))
    made.at(((9,),))
    assert asked == [None, None]


def test_an_error_of_all_devices_is_the_caller_s() -> None:
    with pytest.raises(BadDataError, match="not on this one"):
        noting([], refused=None).at(((1,),))


def add_masked(values: Any, mask: Any) -> Any:
    return np.sum(values * mask)


def bucketed(function: Any, made: list[Any]) -> Specializations:
    return specialized(function, made, ((0,), (0,)))


def test_lengths_are_padded_to_buckets(made: list[Any]) -> None:
    """The first is compiled exactly too, to try whether padding is exact."""
    found = bucketed(add_masked, made)
    for size in (BUCKET, 5, 9, 70, 33):
        arrays = [np.full(size, 2, np.float32), np.ones(size, np.int32)]
        assert found.run(arrays)[0] == 2 * size
    assert made == [((64,), (64,)), ((5,), (5,)), ((128,), (128,))]


def test_padding_that_no_input_masks_is_refused(made: list[Any]) -> None:
    found = bucketed(lambda values, mask: np.sum(values), made)
    with pytest.raises(BadDataError, match="no input masks the padding of inputs"):
        found.run([np.ones(5, np.float32), np.ones(5, np.int32)])


@pytest.mark.parametrize(("size", "is_like"), [(1, False), (2, True), (8, True), (32, True), (33, False)])
def test_shapes_of_up_to_four_times_as_many_elements_are_compiled_alike(size: int, is_like: bool) -> None:
    """Beside a specialization for 8 elements."""
    asked: list[str | None] = []
    made = noting(asked)
    made.at(((2, 4),))
    made.at(((size,),))
    assert asked == [None, "1" if is_like else None]


def test_the_device_of_the_last_of_several_similar_ones_is_taken_over() -> None:
    asked: list[str | None] = []
    made = noting(asked)
    for size in (8, 9, 100, 10):
        made.at(((size,),))
    assert asked[3] == "2"


def test_the_one_used_longest_ago_is_dropped(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_cache, "MOST_BYTES", 2 * (OVERHEAD + 3 * VALUES))
    monkeypatch.setattr(shape_cache, "LEAST_SHAPES", 1)

    def compile(shapes: Any, device: str | None, is_cached: bool) -> Any:
        made.append(shapes)
        return Compiled(np.negative)

    found = Specializations(compile)
    for size in (1, 2, 1, 3, 1, 2):
        found.at(((size,),))
    assert made == [((1,),), ((2,),), ((3,),), ((2,),)]
    assert len(found) == 2


def test_the_first_of_similar_shapes_and_buckets_are_cached() -> None:
    found: dict[Any, bool] = {}

    def compile(shapes: Any, device: str | None, is_cached: bool) -> Any:
        found[shapes[0]] = is_cached
        return Compiled(np.negative)

    made_for = Specializations(compile)
    for size in (10, 30, 31, 600, 601):  # 31 and 601 are padded
        made_for.run([np.ones(size, np.float32)])
    assert found == {(10,): True, (30,): False, (128,): True, (600,): True, (704,): True}
    found.clear()
    in_buckets = Specializations(compile, ((0,),))
    for size in (20, 100):
        in_buckets.run([np.ones(size, np.float32)])
    assert found == {(64,): True, (20,): False, (128,): True}


def test_a_few_shapes_of_a_large_model_are_kept(made: list[Any]) -> None:
    def compile(shapes: Any, device: str | None, is_cached: bool) -> Any:
        compiled = Compiled(np.negative)
        weight = np.broadcast_to(np.float32(0), (1 << 30,))
        compiled.model.add_constant(nnapi.tensor("float32", (1 << 28,)), weight)
        return compiled

    found = Specializations(compile)
    for size in range(1, 2 * LEAST_SHAPES + 1, 2):
        found.at(((size,),))
    found.at(((99,),))
    assert len(found) == LEAST_SHAPES


def test_padding_is_prepared_behind_runs_with_dynamic_dimensions(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked = Clocked(np.negative, monkeypatch)
    with nnapi.settings(tuning=True):  # waits for it
        clocked.run(5, 9, 10, 11, 12, 9)
    assert clocked.log == [(5,), "all sizes", (128,)]
    text = clocked.found.explain()
    assert "inputs [128]: compiled behind runs in 1.00 s, 3 runs, padded from any length up to 128" in text
    assert "dynamic dimensions on all-sizes: compiled in 1.00 s, 2 runs" in text
    clocked.found.clear()
    assert len(clocked.found) == 0


def test_padding_that_is_slower_or_changes_results_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(x: Any) -> Any:
        clocked.now += x.size // 64 if x.size % 64 == 0 else 0
        return np.negative(x)

    for function in (slow, np.sum):
        clocked = Clocked(function, monkeypatch)
        with nnapi.settings(tuning=True):
            clocked.run(5, *range(9, 140))
        wider = [(192,)] if function is slow else []  # padding that changes results does so whatever its length
        assert clocked.log == [(5,), "all sizes", (128,), *wider], "no run waits for it later"
        assert "131 runs" in clocked.found.explain()
        assert "behind runs" not in clocked.found.explain()


def test_shapes_without_elements_run_on_a_preparation_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their own compilation, which was made before, runs on the CPU only."""
    clocked = Clocked(np.negative, monkeypatch)
    clocked.run(0, 9, 0, 0, *[0] * 20)
    assert clocked.log == [(0,), "all sizes"]
    assert "dynamic dimensions on all-sizes: compiled in 1.00 s, 23 runs" in clocked.found.explain()


def test_without_trials_no_padding_is_prepared_behind_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked = Clocked(np.negative, monkeypatch)
    with nnapi.settings(tuning=False):
        clocked.run(5, 9, 10, 11)
    assert clocked.log == [(5,), "all sizes"]


def test_work_behind_runs_has_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NNAPI_TUNING", raising=False)
    begun, done = threading.Event(), threading.Event()
    clocked = Clocked(np.negative, monkeypatch)
    compile: Any = clocked.found._compile

    def wait(shapes: Any, *rest: Any) -> Any:
        if shapes == ((128,),):
            begun.set()
            assert done.wait(60)
        return compile(shapes, *rest)

    monkeypatch.setattr(clocked.found, "_compile", wait)
    clocked.run(5, 9, 10, 11)
    assert begun.wait(60)
    clocked.run(12)
    done.set()
    end = time.monotonic() + 60
    while len(clocked.found) < 2 and time.monotonic() < end:
        time.sleep(0.001)
    clocked.run(13)
    assert "s, 1 run, padded from any length up to 128" in clocked.found.explain()


def test_other_shapes_run_on_a_preparation_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked = Clocked(np.negative, monkeypatch)
    clocked.run(5, *range(9, 70, 2), 5)
    assert clocked.log == [(5,), "all sizes"]
    assert "dynamic dimensions on all-sizes: compiled in 1.00 s, 31 runs" in clocked.found.explain()
    clocked.found.clear()
    clocked.run(9, 7)
    assert clocked.log[2:] == [(9,), "all sizes"]


def test_a_shape_that_runs_for_long_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked = Clocked(np.negative, monkeypatch)
    clocked.run(5, *[9] * 11)
    assert clocked.log == [(5,), "all sizes"]
    clocked.run(*[9] * 5, 13)
    assert clocked.log == [(5,), "all sizes", (9,)]


def test_no_run_waits_for_padding_after_a_preparation_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long runs take, as on a busy machine: a decoder compiles twice on its caller's path."""
    clocked = Clocked(np.negative, monkeypatch)
    for _ in range(3):
        clocked.run(5, *range(20, 64))
    assert clocked.log == [(5,), "all sizes"]


def test_growing_lengths_are_prepared_for_all_sizes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Padding may be inexact: that would be a compilation for nothing."""
    clocked = Clocked(np.sum, monkeypatch)
    clocked.run(*range(5, 10))
    assert clocked.log == [(5,), "all sizes"]


def test_all_devices_are_asked_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compilation for the device of a similar shape does not decide that others are not asked."""
    clocked = Clocked(np.negative, monkeypatch)
    compile: Any = clocked.found._compile

    def compile_alone(shapes: Any, *rest: Any) -> Any:
        compiled = compile(shapes, *rest)
        if shapes == ((4,),):
            compiled.candidates = [SimpleNamespace(name="one-size", driver=None)]
        return compiled

    monkeypatch.setattr(clocked.found, "_compile", compile_alone)
    for size in (5, 4):
        clocked.found.at(((size,),))
    clocked.run(9, 12)
    assert clocked.log == [(5,), (4,), "all sizes"]
    assert "dynamic dimensions on all-sizes" in clocked.found.explain()


def test_compilations_that_take_little_time_are_made_each(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked = Clocked(np.negative, monkeypatch, cost=0.03)
    clocked.run(1, 3, 5, 7, 9, 11)
    assert clocked.log == [(1,), (3,), (5,), (7,), "all sizes"]


def test_a_preparation_for_all_sizes_that_fails_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    clocked = Clocked(np.negative, monkeypatch)
    clocked.run(5, 9)
    clocked.broken = True
    clocked.run(12, 14, 12)
    assert clocked.log == [(5,), "all sizes", (12,), (14,)]
    assert clocked.found.explain().endswith("other shapes are compiled each: all-sizes: not this shape")
