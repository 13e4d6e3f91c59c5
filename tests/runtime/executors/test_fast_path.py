"""The short way through a compilation: taken by what fits, left by everything else."""

from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Device, Execution, Model, compile, tensor, trace
from nnapi.contract.driver import Handle, OpenOptions, Outcome, Prepared, PrepareOptions, Request
from nnapi.errors import BadDataError, OpFailedError
from nnapi.model.operand import Array, Shape
from nnapi.runtime.device_queue import DeviceQueue
from nnapi.runtime.executors import fast_path
from nnapi.runtime.inputs import make_zeros
from tests.runtime.device_cases import GIVEN, REFERENCE, Scripted, as_it_is, chain, chained


class Short(Scripted):
    """A driver with a direct way, which notes the shapes that it was asked for and how often it ran."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__(as_it_is, "short")
        self.shapes: list[list[Shape]] = []
        self.runs = 0
        self.error = error

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        return _ShortPrepared(self, super().prepare(model, options))


class _ShortPrepared:
    def __init__(self, driver: Short, inner: Prepared) -> None:
        self._driver, self._inner = driver, inner

    def execute(self, request: Request) -> Outcome:
        return self._inner.execute(request)

    def open_handle(self, options: OpenOptions) -> Handle:
        if options.shapes is None:
            return Handle(self.execute, self.open_handle)
        self._driver.shapes.append(list(options.shapes))

        def run(inputs: Sequence[Array]) -> list[Array]:
            self._driver.runs += 1
            if self._driver.error is not None:
                raise self._driver.error
            return list(REFERENCE.driver.prepare(chain(), PrepareOptions()).execute(Request(inputs)).outputs)

        return Handle(self.execute, self.open_handle, run)

    def close(self) -> None:
        self._inner.close()


def test_inputs_that_fit_take_it_from_a_compilation_and_from_a_burst() -> None:
    driver = Short()
    compilation = compile(chain(), Device(driver))
    with compilation.burst() as burst:
        for run in (compilation.run, burst.run):
            (result,) = run(GIVEN)
            np.testing.assert_array_equal(result, chained())
    assert (driver.runs, driver.requests) == (2, [])


@pytest.mark.parametrize(
    ("given", "violation"),
    [(GIVEN.tolist(), None), (GIVEN.astype(np.float64), "stores float32"), (GIVEN[:1], r"shape \[1, 2\]")],
)
def test_other_inputs_take_the_general_way(given: object, violation: str | None) -> None:
    driver = Short()
    compilation = compile(chain(), Device(driver))
    if violation is None:
        np.testing.assert_array_equal(compilation.run(given)[0], chained())
    else:
        with pytest.raises(BadDataError, match=violation):
            compilation.run(given)
    assert driver.runs == 0


def test_booleans_of_numpy_take_it_as_bytes() -> None:
    types = [tensor("bool", (2,)), tensor("float32", (2,))]
    seen: list[Array] = []

    def infer(inputs: Sequence[Array]) -> list[Array]:
        seen.extend(inputs)
        return []

    run = fast_path._accept(types, [(2,), (2,)], infer)
    assert run([np.array([True, False]), np.ones(2, np.float32)]) == []
    assert [array.dtype.name for array in seen] == ["uint8", "float32"]
    assert seen[0].tolist() == [1, 0]
    assert run([np.array([1, 0], np.uint8), np.ones(2, np.float32)]) == []
    assert run([[True, False], np.ones(2, np.float32)]) is None


def test_what_fails_is_run_again_the_general_way() -> None:
    driver = Short(error=RuntimeError("lost"))
    compilation = compile(chain(), Device(driver))
    np.testing.assert_array_equal(compilation.burst().run(GIVEN)[0], chained())
    assert (driver.runs, len(driver.requests)) == (1, 1)


def test_what_fails_both_ways_says_why() -> None:
    def fail(request: Request, inner: Prepared) -> Outcome:
        raise OpFailedError("out of order")

    driver = Short(error=RuntimeError("lost"))
    driver._execute = fail
    with pytest.raises(OpFailedError, match="out of order"):
        compile(chain(), Device(driver)).run(GIVEN)


def test_it_is_not_taken_while_a_trace_is_recorded() -> None:
    driver = Short()
    compilation = compile(chain(), Device(driver))
    with trace.recording():
        compilation.run(GIVEN)
    assert (driver.runs, len(driver.requests)) == (0, 1)


@pytest.mark.parametrize("lacks", ["a time limit", "a trace", "nothing"])
def test_an_execution_takes_it_unless_it_is_asked_for_more(lacks: str) -> None:
    driver, result = Short(), np.empty_like(GIVEN)
    execution = Execution(compile(chain(), Device(driver)))
    execution.set_input(0, GIVEN)
    execution.set_output(0, result)
    if lacks == "a time limit":
        execution.set_timeout(10**12)
    with trace.recording() if lacks == "a trace" else nullcontext():
        execution.compute()
    np.testing.assert_array_equal(result, chained())
    assert (driver.runs, len(driver.requests)) == ((1, 0) if lacks == "nothing" else (0, 1))


def test_it_waits_for_its_turn() -> None:
    queue = DeviceQueue(1)
    compilation = compile(chain(), Device(driver := Short(), queue))
    compilation.run(GIVEN)
    assert (len(queue._free), driver.runs) == (1, 1)
    driver.error = RuntimeError("lost")
    compilation.run(GIVEN)
    assert len(queue._free) == 1


def test_open_dimensions_are_those_of_the_run_before() -> None:
    b = Builder("open")
    b.output(b.abs(b.input(tensor("float32", (0, 2)))))
    driver = Short()
    burst = compile(b.finish(), Device(driver)).burst()
    burst.run(GIVEN)
    assert (driver.runs, driver.shapes) == (0, [[(2, 2)]])
    burst.run(GIVEN)
    assert driver.runs == 1
    burst.run(GIVEN[:1])
    assert (driver.runs, driver.shapes[-1]) == (1, [(1, 2)])


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_inputs_takes_the_general_way(count: int) -> None:
    x = np.zeros((2, 3), np.float32)
    run = fast_path._accept_several([(x.dtype, x.shape)] * 2, list)
    assert run([x] * count) is None
    assert run([x] * 2) is not None


def test_zeros_have_one_element_along_a_dynamic_dimension() -> None:
    b = Builder()
    b.output(b.relu(b.input(tensor("float32", (0, 3)))))
    (zeros,) = make_zeros(b.finish())
    assert zeros is not None
    assert zeros.tolist() == [[0, 0, 0]]


FLOATS, WORDS = np.zeros((2, 3), np.float32), np.zeros((4,), np.int32)


@pytest.mark.parametrize(
    ("inputs", "fits"),
    [
        ([FLOATS, WORDS], True),
        ([FLOATS + 1, WORDS + 1], True),
        ([FLOATS.T, WORDS], False),
        ([FLOATS, WORDS.astype(np.uint32)], False),
        ([FLOATS.astype(np.float64), WORDS], False),
        ([FLOATS[:1], WORDS], False),
        ([FLOATS, WORDS[:3]], False),
        ([FLOATS, WORDS.tolist()], False),
        ([FLOATS.view(np.recarray), WORDS], False),
        ([WORDS, FLOATS], False),
    ],
)
def test_types_and_shapes_are_exactly_those_that_are_expected(inputs: list[Any], fits: bool) -> None:
    wanted = [(array.dtype, array.shape) for array in (FLOATS, WORDS)]
    run = fast_path._accept_several(wanted, lambda given: [np.array(7)])
    assert (run(inputs) is not None) is fits


@pytest.mark.parametrize(
    ("inputs", "fits"),
    [
        ([FLOATS], True),
        ([FLOATS, FLOATS], False),
        ([], False),
        ([FLOATS.T], False),
        ([FLOATS.astype(np.float64)], False),
        ([FLOATS[:1]], False),
        ([FLOATS.tolist()], False),
        ([FLOATS.view(np.recarray)], False),
    ],
)
def test_one_input_has_exactly_the_type_and_shape_that_are_expected(inputs: list[Any], fits: bool) -> None:
    run = fast_path._accept_one(FLOATS.dtype, FLOATS.shape, lambda given: [np.array(7)])
    assert (run(inputs) is not None) is fits


@pytest.mark.parametrize(
    ("types", "given", "known"),
    [
        ([(2, 3)], None, [(2, 3)]),
        ([(2, 3), (4,)], None, [(2, 3), (4,)]),
        ([(0, 3)], None, None),
        ([()], None, None),
        ([(2, 3), (0,)], None, None),
        ([(0, 3)], [(5, 3)], [(5, 3)]),
        ([(0, 3), (4,)], [(5, 3), (4,)], [(5, 3), (4,)]),
        ([(0, 3)], [None], None),
        ([(0, 3)], [()], None),
    ],
)
def test_a_fast_path_is_for_shapes_that_are_known(types: Any, given: Any, known: Any) -> None:
    model = make_model(types)
    arrays = given and [None if shape is None else np.zeros(shape, np.float32) for shape in given]
    shapes = fast_path.list_shapes(model, arrays)
    assert shapes == known
    handle: Any = SimpleNamespace(call=list)
    assert (fast_path.find_fast_path(model, handle, shapes) is not None) is (known is not None)
    assert fast_path.find_fast_path(model, SimpleNamespace(call=None), shapes) is None  # type: ignore[arg-type]
    assert fast_path.is_dynamic(model) is any(not each or 0 in each for each in types)


def make_model(types: Sequence[Shape]) -> Model:
    model = Model()
    indices = [model.add_operand(tensor("float32", dimensions)) for dimensions in types]
    model.identify_inputs_and_outputs(indices, [model.add_operand(tensor("float32", (1,)))])
    return model


@pytest.mark.parametrize("borrow", [False, True])
def test_fast_paths_of_the_latest_two_shapes_are_kept(borrow: bool) -> None:
    asked: list[OpenOptions] = []

    def reopen(options: OpenOptions) -> Any:
        asked.append(options)
        return SimpleNamespace(call=list)

    handle: Any = SimpleNamespace(reopen=reopen)
    paths = fast_path.FastPaths(make_model([(0, 3)]), handle, borrow=borrow)
    for size in (1, 2, 1, 2, 3, 2, 1):
        found = paths.find([np.zeros((size, 3), np.float32)])
        assert found is not None
        assert found([np.zeros((size, 3), np.float32)]) is not None
    assert asked == [OpenOptions([(size, 3)], borrow=borrow) for size in (1, 2, 3, 1)]
    assert paths.find([None]) is None
