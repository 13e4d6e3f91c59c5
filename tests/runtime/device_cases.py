"""Devices and models that the tests of plans, faults and queues share."""

from collections.abc import Callable, Sequence

import numpy as np

from nnapi import Builder, Device, DeviceTypeCode, Model, OperationCode, device, tensor
from nnapi.contract.driver import Capabilities, Outcome, Performance, Prepared, PrepareOptions, Request, Verdict
from nnapi.drivers.limited import Limited
from nnapi.model.operand import Array

REFERENCE = device("nnapi-reference")
SQUARE = tensor("float32", (2, 2))
GIVEN = np.array([[-4, -1], [2, 9]], np.float32)


def capabilities(time: float = 0.01, power: float = 0.01, launch: float = 0.0) -> Capabilities:
    figure = Performance(time, power)
    return Capabilities(figure, relaxed=figure, if_=figure, while_=figure, launch_seconds=launch, seconds_per_byte=0.0)


def limited(
    name: str = "quick",
    takes: Sequence[int] | None = None,
    declared: Capabilities | None = None,
    level: int | None = None,
    type: DeviceTypeCode = DeviceTypeCode.DEVICE_ACCELERATOR,
) -> Device:
    """The reference under another name, by default a hundred times as fast; ``takes`` are operation codes."""

    def refuses(model: Model, call: object) -> str | None:
        code = call.code  # type: ignore[attr-defined]
        return None if takes is None or code in takes else f"{call}: not for {name}"

    return Device(Limited(REFERENCE.driver, name, refuses, declared or capabilities(), level, type))


def chain(count: int = 3) -> Model:
    """ABS, NEG, ABS, NEG, …: the result is minus the magnitude, or the magnitude."""
    b = Builder("chain")
    x = b.input(SQUARE, name="x")
    for i in range(count):
        x = b.abs(x) if i % 2 == 0 else b.neg(x)
    b.output(x)
    return b.finish()


def chained(count: int = 3) -> Array:
    magnitude: Array = np.abs(GIVEN)
    return -magnitude if count == 2 else magnitude


def build_reversed() -> Model:
    """Return a model whose operations are added in reverse: NEG (#0) reads ABS (#1), which runs first."""
    made = Model("reversed")
    for _ in range(3):
        made.add_operand(tensor("float32", (2,)))
    made.add_operation(OperationCode.NEG, [1], [2])
    made.add_operation(OperationCode.ABS, [0], [1])
    made.identify_inputs_and_outputs([0], [2])
    made.finish()
    return made


class Scripted:
    """A driver over the reference whose ``execute`` is a function of the request and the reference's Prepared."""

    def __init__(self, execute: Callable[[Request, Prepared], Outcome], name: str = "scripted") -> None:
        self.info = Limited(REFERENCE.driver, name).info
        self._execute = execute
        self.options: list[PrepareOptions] = []
        self.requests: list[Request] = []

    def capabilities(self) -> Capabilities:
        return capabilities()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return REFERENCE.driver.verdicts(model)

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        self.options.append(options)
        return _ScriptedPrepared(self, REFERENCE.driver.prepare(model, options))


class _ScriptedPrepared:
    def __init__(self, driver: Scripted, inner: Prepared) -> None:
        self._driver, self._inner, self.name = driver, inner, driver.info.name

    def execute(self, request: Request) -> Outcome:
        self._driver.requests.append(request)
        return self._driver._execute(request, self._inner)

    def close(self) -> None:
        self._inner.close()


def as_it_is(request: Request, inner: Prepared) -> Outcome:
    return inner.execute(request)


ABS, NEG = OperationCode.ABS, OperationCode.NEG
