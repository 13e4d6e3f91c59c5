"""Drivers that return other outputs than the model's: every way to run notices them."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Compilation, Device, Execution, Model, compile, tensor
from nnapi.codes import OEM_SCALAR, OperandCode
from nnapi.contract.driver import Bound, Inference, Outcome, Prepared, PrepareOptions
from nnapi.errors import OpFailedError
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.runtime.executors import output_check
from nnapi.runtime.executors.output_check import OutputCheck, describe_misfit
from tests.rows import each_row
from tests.runtime.device_cases import REFERENCE, Scripted, as_it_is

X = np.array([144, 25], np.float32)
ROOTS = [12, 5]
LIES: dict[str, Any] = {
    "more": np.ones(4, np.float32),
    "one": np.ones(1, np.float32),
    "another rank": np.ones((2, 1), np.float32),
    "no rank": np.array(1, np.float32),
    "another type": np.ones(2, np.float64),
    "nothing": None,
    "a list": [1.0, 2.0],
}


def make_model(shape: Shape = (2,)) -> Model:
    b = Builder()
    type = tensor("float32", shape)
    b.output(b.sqrt(b.input(type, name="x"), out=type))
    return b.finish()


class Liar(Scripted):
    """A driver with a fast path and memory for inputs, whose runs return ``outputs``."""

    def __init__(self, *outputs: Any, hides: bool = False) -> None:
        """With ``hides``, only the general path returns them."""
        super().__init__(lambda request, _: Outcome(outputs), "liar")
        self.outputs, self.hides, self.ran = list(outputs), hides, 0

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        return _Lies(self, super().prepare(model, options))


class _Lies:
    def __init__(self, driver: Liar, inner: Prepared) -> None:
        self.driver, self.execute, self.close = driver, inner.execute, inner.close

    def _run(self, inputs: Sequence[Array]) -> list[Array]:
        self.driver.ran += 1
        return self.driver.outputs

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        return None if self.driver.hides else self._run

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        return None if self.driver.hides else Bound([X.copy()], lambda: self._run([]))


def run_execution(compilation: Compilation) -> list[Array]:
    execution, y = Execution(compilation), np.zeros(2, np.float32)
    execution.set_input(0, X)
    execution.set_output(0, y)
    execution.compute()
    return [y]


def run_with_deadline(compilation: Compilation) -> list[Array]:
    execution, y = Execution(compilation), np.zeros(2, np.float32)
    execution.set_timeout(10**11)
    execution.set_input(0, X)
    execution.set_output(0, y)
    execution.compute()
    return [y]


def run_bound(compilation: Compilation) -> list[Array]:
    bound = compilation.burst().bind(X.shape)
    bound.inputs[0][:] = X
    return bound.run()


WAYS: dict[str, Callable[[Compilation], Any]] = {
    "run": lambda compilation: compilation.run(X),
    "by name": lambda compilation: list(compilation(x=X)),
    "a burst": lambda compilation: compilation.burst().run(X),
    "a borrowing burst": lambda compilation: compilation.burst(borrow=True).run(X),
    "bound memory": run_bound,
    "run_many": lambda compilation: next(compilation.run_many([X], requests=1)),
    "start": lambda compilation: compilation.start(X).result(),
    "await": lambda compilation: asyncio.run(wait_for(compilation)),
    "an execution": run_execution,
    "an execution with a time limit": run_with_deadline,
}


async def wait_for(compilation: Compilation) -> list[Array]:
    return await compilation.start(X)


@each_row("way", WAYS)
@each_row("hides", [False, True])
@each_row("lie", LIES)
def test_wrong_outputs_are_errors(lie: str, hides: bool, way: str) -> None:
    compilation = Compilation(make_model(), [Device(Liar(LIES[lie], hides=hides))])
    compilation.finish()
    with pytest.raises(OpFailedError, match=r"liar returned .* for sqrt_0 \(1\): TENSOR_FLOAT32\[2\]"):
        WAYS[way](compilation)


@pytest.mark.parametrize("way", [way for way in WAYS if "time limit" not in way])
def test_the_cpu_repeats_the_run_if_it_may(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi.runtime.device.devices", lambda: [Device(Liar(LIES["more"])), REFERENCE])
    compilation = compile(make_model())
    assert compilation.plan.devices == ("liar",)
    assert WAYS[way](compilation)[0].tolist() == ROOTS


@pytest.mark.parametrize("outputs", [(), (X, X)])
def test_too_few_and_too_many_outputs(outputs: Sequence[Array]) -> None:
    with pytest.raises(OpFailedError, match=f"liar returned {len(outputs)} outputs, must be 1"):
        compile(make_model(), [Device(Liar(*outputs))]).run(X)


@pytest.mark.parametrize("is_bound", [False, True])
def test_a_fast_path_is_checked_at_its_first_run_only(is_bound: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    checks, call = list[object](), OutputCheck.__call__
    monkeypatch.setattr(OutputCheck, "__call__", lambda self, outputs: checks.append(self) or call(self, outputs))
    liar = Liar(X)
    burst = compile(make_model(), [Device(liar)]).burst()
    run = burst.bind(X.shape).run if is_bound else lambda: burst.run(X)
    for _ in range(3):
        assert run()[0] is X
    assert (len(checks), liar.ran) == (1, 3)


def test_outputs_of_unknown_size_are_checked_in_each_run() -> None:
    check = OutputCheck("liar", make_model((0,)))
    assert not check([X])
    with pytest.raises(OpFailedError, match=r"liar returned dimensions \[2, 1\]"):
        check([X.reshape(2, 1)])


def test_outputs_as_in_the_run_before_are_not_described_again(monkeypatch: pytest.MonkeyPatch) -> None:
    described: list[Shape] = []

    def describe(type: OperandType, value: Array) -> str | None:
        described.append(value.shape)
        return describe_misfit(type, value)

    monkeypatch.setattr(output_check, "describe_misfit", describe)
    check = OutputCheck("liar", make_model((0,)))
    one, two = np.ones(1, np.float32), np.ones(2, np.float32)
    for outputs in (one, one, two, two, one):
        check([outputs])
    assert described == [(1,), (2,), (1,)]
    with pytest.raises(OpFailedError, match="an array of float64"):
        check([one.astype(np.float64)])


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (tensor("float32", (0, 2)), np.ones((7, 2), np.float32)),
        (tensor("float32"), np.ones((7, 2), np.float32)),
        (OperandType(OperandCode.INT32), np.array(3, np.int32)),
        (OperandType(OperandCode.INT32), np.array([3], np.int32)),
        (OperandType(OEM_SCALAR), np.zeros(9, np.uint8)),
        (tensor("bool8", (2,)), np.zeros(2, np.uint8)),
    ],
)
def test_values_that_fit(type: OperandType, value: Array) -> None:
    assert describe_misfit(type, value) is None


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (tensor("float32", (0, 2)), np.ones((7, 3), np.float32)),
        (tensor("float32"), np.array(1, np.float32)),
        (OperandType(OperandCode.INT32), np.array([3, 4], np.int32)),
    ],
)
def test_values_that_do_not_fit(type: OperandType, value: Array) -> None:
    assert describe_misfit(type, value) == f"dimensions {[*value.shape]}"


class Forgetful(Scripted):
    """A driver whose ``prepare`` returns nothing."""

    def prepare(self, model: Model, options: PrepareOptions) -> Any:
        return None


def test_a_driver_that_prepares_nothing() -> None:
    forgetful = Device(Forgetful(as_it_is, "forgetful"))
    with pytest.raises(OpFailedError, match="forgetful returned None for a prepared model"):
        compile(make_model(), [forgetful])
    assert compile(make_model(), [forgetful, REFERENCE]).run(X)[0].tolist() == ROOTS
