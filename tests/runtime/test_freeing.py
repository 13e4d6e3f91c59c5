"""Prepared models are freed with their last reference: engines would keep memory until a garbage collection."""

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi import Compilation, Execution, Model
from nnapi.contract.driver import PrepareOptions
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device
from nnapi.trace import spans
from tests.engines import DEVICES, find_device

LARGE = 200, 200
"""An engine reads inputs of this size in the caller's memory."""


@pytest.fixture(autouse=True)
def _collect_nothing() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def make_sum(shape: tuple[int, ...]) -> Model:
    builder = nnapi.Builder("sum")
    x = builder.input(tensor("float32", shape))
    builder.output(builder.relu(builder.add(x, x)))
    return builder.finish()


def make_gather() -> Model:
    builder = nnapi.Builder("gather")
    rows, indices = builder.input(tensor("float32", LARGE)), builder.input(tensor("int32", (20000,)))
    builder.output(builder.gather(rows, 0, indices))
    return builder.finish()


def make_choice() -> Model:
    builder = nnapi.Builder("choice")
    condition, x = builder.input(tensor("bool8", (1,))), builder.input(tensor("float32", (2, 2)))
    (result,) = builder.if_(condition, make_sum((2, 2)), make_sum((2, 2)), x)
    builder.output(result)
    return builder.finish()


def do_nothing(compilation: Compilation, *inputs: Any) -> None:
    pass


def run(compilation: Compilation, *inputs: Any) -> None:
    compilation.run(*inputs)


def run_in_burst(compilation: Compilation, *inputs: Any) -> None:
    with compilation.burst() as burst:
        burst.run(*inputs)
        burst.bind(*[array.shape for array in inputs]).run()


def execute(compilation: Compilation, *inputs: Any) -> None:
    execution = Execution(compilation)
    for index, array in enumerate(inputs):
        execution.set_input(index, array)
    execution.set_output(0, np.empty_like(inputs[0]))
    execution.start_compute().wait()


def trace(compilation: Compilation, *inputs: Any) -> None:
    with spans.recording():
        compilation.run(*inputs)
    with spans.recording(), spans.section("the thread keeps the sections of its last trace"):
        pass


SQUARE = (np.ones((2, 2), np.float32),)
CASES: dict[str, tuple[Callable[[], Model], tuple[Any, ...], Callable[..., None]]] = {
    "not run": (lambda: make_sum((2, 2)), SQUARE, do_nothing),
    "run": (lambda: make_sum((2, 2)), SQUARE, run),
    "run with large inputs": (lambda: make_sum(LARGE), (np.ones(LARGE, np.float32),), run),
    "dynamic": (lambda: make_sum((0, 2)), SQUARE, run),
    "in a burst": (lambda: make_sum((2, 2)), SQUARE, run_in_burst),
    "executed": (lambda: make_sum((2, 2)), SQUARE, execute),
    "traced": (lambda: make_sum((2, 2)), SQUARE, trace),
    "with indices": (make_gather, (np.ones(LARGE, np.float32), np.zeros(20000, np.int32)), run),
}


def list_left(
    device: Device, make: Callable[[], Model], inputs: Sequence[Any], use: Callable[..., None], patch: Any
) -> list[Any]:
    """Return the model, and what the driver has prepared for it, or None for each one that is freed."""
    prepare = device.driver.prepare
    seen: list[weakref.ref[Any]] = []

    def note(model: Model, options: PrepareOptions) -> Any:
        made = prepare(model, options)
        seen.append(weakref.ref(made))
        return made

    def use_and_close() -> None:
        model = make()
        seen.append(weakref.ref(model))
        with Compilation(model, [device]) as compilation:
            compilation.finish()
            use(compilation, *inputs)

    patch.setattr(device.driver, "prepare", note)
    use_and_close()
    return [each() for each in seen]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("device", DEVICES)
def test_all_is_freed_with_the_last_reference(device: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list_left(find_device(device), *CASES[case], monkeypatch) == [None, None]


def test_models_of_branches_are_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = np.ones(1, np.bool_), *SQUARE
    assert list_left(nnapi.device("nnapi-reference"), make_choice, inputs, run, monkeypatch) == [None, None]
