"""A plan of several steps made ready: a Prepared like a driver's, which runs one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nnapi.drivers.base import LoopTimeoutError, Outcome, Prepared, Request
from nnapi.errors import MissedDeadlineTransientError, need_value
from nnapi.model.model import Lifetime
from nnapi.model.operand import Array
from nnapi.runtime.planning.plan import If, Plan, Run, Step

Prepare = Callable[[Plan, Run], Prepared]
"""Makes one step of a plan ready."""


class PreparedPlan:
    """The steps of a plan, each made ready by ``prepare``, run one after the other."""

    def __init__(self, plan: Plan, prepare: Prepare) -> None:
        self.plan = plan
        self._constants = {o.index: o.value for o in plan.model.operands if o.lifetime == Lifetime.CONSTANT}
        self._steps = [_prepare_step(plan, step, prepare) for step in plan.steps]

    def execute(self, request: Request) -> Outcome:
        model = self.plan.model
        values: dict[int, Array | None] = dict(self._constants)
        values.update(zip(model.inputs, request.inputs, strict=True))
        for step in self._steps:
            if request.deadline is not None and time.monotonic_ns() > request.deadline:
                raise MissedDeadlineTransientError("the time limit passed between two steps")
            inputs = [values.get(index) for index in step.inputs]
            values.update(zip(step.outputs, step.run(inputs, request), strict=True))
        return Outcome([_need_own(values[index]) for index in model.outputs])

    def close(self) -> None:
        for step in self._steps:
            step.close()


class _ReadyRun(NamedTuple):
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    prepared: Prepared

    def run(self, inputs: Sequence[Array | None], request: Request) -> Sequence[Array]:
        return self.prepared.execute(Request(inputs, request.deadline, request.loop_timeout)).outputs

    def close(self) -> None:
        self.prepared.close()


class _ReadyIf(NamedTuple):
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    then: PreparedPlan
    otherwise: PreparedPlan

    def run(self, inputs: Sequence[Array | None], request: Request) -> Sequence[Array]:
        branch = self.then if _read_condition(inputs[0]) else self.otherwise
        return branch.execute(Request(inputs[1:], request.deadline, request.loop_timeout)).outputs

    def close(self) -> None:
        self.then.close()
        self.otherwise.close()


class _ReadyWhile(NamedTuple):
    """A loop that a plan walks. The time is looked at after each condition, before its value is, as NNAPI's plan does:
    a loop that has just ended may be too late. On the reference a loop that ends is never too late, as on NNAPI's CPU
    executor (``drivers/reference/control_flow``). The two differ on purpose.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    condition: PreparedPlan
    body: PreparedPlan

    def run(self, inputs: Sequence[Array | None], request: Request) -> Sequence[Array]:
        end = time.monotonic_ns() + request.loop_timeout
        state = list(inputs)
        while True:
            turn = Request(state, request.deadline, request.loop_timeout)
            goes_on = _read_condition(self.condition.execute(turn).outputs[0])
            if time.monotonic_ns() > end:
                raise LoopTimeoutError(f"the loop ran longer than {request.loop_timeout} ns")
            if not goes_on:
                return [_need_own(array) for array in state[: len(self.outputs)]]
            results = self.body.execute(turn).outputs
            state[: len(results)] = results

    def close(self) -> None:
        self.condition.close()
        self.body.close()


def _prepare_step(plan: Plan, step: Step, prepare: Prepare) -> _ReadyRun | _ReadyIf | _ReadyWhile:
    if isinstance(step, Run):
        return _ReadyRun(step.inputs, step.outputs, prepare(plan, step))
    if isinstance(step, If):
        inputs = (step.condition, *step.inputs)
        return _ReadyIf(inputs, step.outputs, PreparedPlan(step.then, prepare), PreparedPlan(step.otherwise, prepare))
    return _ReadyWhile(
        step.inputs, step.outputs, PreparedPlan(step.condition, prepare), PreparedPlan(step.body, prepare)
    )


def _read_condition(condition: Array | None) -> bool:
    return bool(need_value(condition, "the condition of control flow is omitted").reshape(-1)[0])


def _need_own(array: Array | None) -> Array:
    array = need_value(array, "an omitted operand became an output")
    return array if array.flags.owndata and array.flags.writeable else np.array(array)
