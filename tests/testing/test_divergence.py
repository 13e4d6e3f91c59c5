"""The first operation that differs: one planted in random models is found, and nothing where none is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from nnapi.codes import OperationCode
from nnapi.compiling import compile
from nnapi.contract.driver import Outcome, Prepared, Request
from nnapi.drivers.faulty import Fault, Faulty
from nnapi.errors import NnapiError
from nnapi.model.builder import Builder
from nnapi.model.model import Model
from nnapi.model.operand import Array, tensor
from nnapi.runtime.device import Device, device
from nnapi.testing.build import build
from nnapi.testing.divergence import Closeness, find_divergence
from nnapi.testing.random.calls import NoCall
from nnapi.testing.random.graphs import random_graph
from tests.runtime.device_cases import Scripted

REFERENCE = "nnapi-reference"
LENGTH = 6


def random_models(count: int) -> Iterator[tuple[np.random.Generator, Model, list[Array | None]]]:
    """Models of several operations that the reference runs, with inputs, and operands of names of their own."""
    seed = 0
    while count:
        seed += 1
        rng = np.random.default_rng([20, seed])
        try:
            example = random_graph(rng, LENGTH)
            operands = tuple(replace(o, name=f"t{i}") for i, o in enumerate(example.main.operands))
            model = build(replace(example, main=replace(example.main, operands=operands)))
            inputs = [example.inputs[index] for index in model.inputs]
            compile(model, REFERENCE).run(*inputs)
        except (NoCall, NnapiError):
            continue
        if len(model.operations) > 1:
            count -= 1
            yield rng, model, inputs


def plant(rng: np.random.Generator, model: Model, inputs: list[Array | None]) -> tuple[int, Device] | None:
    """A reference that miscomputes one operation, of that number; None where nobody says what is right, or where its
    bits, turned over, mean nearly the same: codes beside 0, also those of the first input's scale."""
    call = model.operations[int(rng.integers(len(model.operations)))]
    computed = {index for each in model.operations for index in each.outputs}
    known = [index for index in call.inputs if index in computed]
    values = compile(model, REFERENCE).run(*inputs, keep=[*call.outputs, *known])[len(model.outputs) :]
    given = [inputs[model.inputs.index(index)] for index in call.inputs if index in model.inputs]
    if any(array is not None and not np.isfinite(array).all() for array in (*values, *given)):
        return None
    # the bound of a long product may exceed any fault, and a hash may change with the last bit of a float
    if call.code in (OperationCode.REDUCE_PROD, OperationCode.LSH_PROJECTION):
        return None
    coarse = model.operands[call.inputs[0]].type.scale
    right = dict(zip(call.outputs, values, strict=False))
    if not any(_spoils(model.operands[index].type.scale, coarse, array) for index, array in right.items()):
        return None
    result = model.operands[call.outputs[0]].name
    return call.number, Device(Faulty(device(REFERENCE).driver, Fault.WRONG, result=result))


def _spoils(scale: float, coarse: float, array: Array) -> bool:
    """Whether a value, its bits turned over, is more than two codes off, and two of the other scale."""
    turned = np.bitwise_not(array.reshape(-1).view(np.uint8)).view(array.dtype).astype(np.float64)
    with np.errstate(all="ignore"):
        off = np.nan_to_num(np.abs(turned - array.reshape(-1).astype(np.float64)), nan=np.inf)
    return bool((off > (2 * max(1.0, coarse / scale) if scale else 1.0)).any())


@pytest.mark.parametrize("count", [5, pytest.param(15, marks=pytest.mark.slow)])
def test_a_planted_operation_is_found(count: int) -> None:
    planted = 0
    for rng, model, inputs in random_models(2 * count):
        found = find_divergence(model, inputs, device(REFERENCE))
        assert found.first is None
        assert not found.failure
        if planting := plant(rng, model, inputs):
            number, faulty = planting
            steps = find_divergence(model, inputs, faulty).steps
            wrong = [step.number for step in steps if step.verdict is Closeness.DIFFERS]
            assert wrong == [number]
            planted += 1
            if planted == count:
                return
    pytest.fail(f"only {planted} could be planted")


def three() -> Model:
    builder = Builder()
    x = builder.input(tensor("float32", (4,)), name="x")
    doubled = builder.add(x, x, name="doubled")
    builder.output(builder.mul(builder.relu(doubled, name="positive"), x, name="y"))
    return builder.finish()


def test_what_is_wrong_in_every_place() -> None:
    """Each operation is given what the reference made before it, so that one fault is not found again after it."""
    faulty = Device(Faulty(device(REFERENCE).driver, Fault.WRONG, operation=OperationCode.RELU))
    found = find_divergence(three(), [np.array([1, -2, 3, 4], np.float32)], faulty)
    steps, first = found.steps, found.first
    assert [step.verdict for step in steps] == [Closeness.SAME, Closeness.DIFFERS, Closeness.SAME]
    assert first is steps[1]
    assert first.results == ("positive",)
    assert "4 of 4 differ" in first.reason
    assert first.alone is not None
    assert first.alone.largest > 1
    assert steps[2].grown is not None
    assert steps[2].grown.largest > 0


def test_a_base_of_ones_own() -> None:
    """The inputs of an operation are the base's results, wrong or not."""
    wrong = Device(Faulty(device(REFERENCE).driver, Fault.WRONG, operation=OperationCode.ADD))
    steps = find_divergence(three(), [np.ones(4, np.float32)], device(REFERENCE), wrong).steps
    assert [step.verdict for step in steps] == [Closeness.NEAR, Closeness.SAME, Closeness.SAME]
    assert steps[0].alone is not None
    assert steps[0].alone.largest > 1


def test_a_device_that_fails() -> None:
    failing = Device(Faulty(device(REFERENCE).driver, Fault.FAILS, operation=OperationCode.MUL))
    found = find_divergence(three(), [np.ones(4, np.float32)], failing)
    assert [step.verdict for step in found.steps] == [Closeness.SAME, Closeness.SAME, Closeness.FAILED]
    assert found.steps[2].reason == found.failure != ""
    assert found.steps[0].grown is None
    assert found.first is None
    assert not found.is_complete


def changed(change: Callable[[Array], Array]) -> Device:
    """The reference, each of whose results is changed."""

    def execute(request: Request, prepared: Prepared) -> Outcome:
        return Outcome([change(array) for array in prepared.execute(request).outputs])

    return Device(Scripted(execute))


@pytest.mark.parametrize(
    ("given", "change", "verdict"),
    [
        (-np.inf, lambda y: np.maximum(y, np.finfo(np.float32).min), Closeness.DIFFERS),
        (np.nan, lambda y: np.nan_to_num(y), Closeness.DIFFERS),
        (1.0, lambda y: np.where(y == 2, np.float32(np.nan), y), Closeness.DIFFERS),
        (np.inf, lambda y: y, Closeness.SAME),
        (np.nan, lambda y: y, Closeness.SAME),
        (np.nan, lambda y: np.where(np.isnan(y), y, y + np.float32(1)), Closeness.UNJUDGED),
    ],
)
def test_infinities_are_always_judged(given: float, change: Callable[[Array], Array], verdict: Closeness) -> None:
    """Finite floats beside them are not judged, so not everything was compared."""
    b = Builder()
    x = b.input(tensor("float32", (2,)))
    b.output(b.add(x, x, name="doubled"))
    found = find_divergence(b.finish(), [np.array([given, 3], np.float32)], changed(change))
    assert found.steps[0].verdict is verdict
    assert found.is_complete == (verdict is not Closeness.UNJUDGED)
    if verdict is Closeness.DIFFERS:
        assert found.first is found.steps[0]
        assert "doubled" in found.steps[0].reason
        assert "[0] is" in found.steps[0].reason


def test_what_is_computed_of_constants_alone_is_tried_too() -> None:
    b, codes = Builder(), tensor("int8", (2, 3), 0.5, 1)
    real = b.dequantize(b.constant(np.arange(6, dtype=np.int8).reshape(2, 3), codes), out="float32")
    b.output(b.add(b.input(tensor("float32", (2, 3))), real))
    steps = find_divergence(b.finish(), [np.ones((2, 3), np.float32)], device("nnapi-reference")).steps
    assert [(step.operation, step.verdict) for step in steps] == [
        ("DEQUANTIZE", Closeness.SAME),
        ("ADD", Closeness.SAME),
    ]
