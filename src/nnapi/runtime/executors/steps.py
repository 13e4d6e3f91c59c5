"""A prepared plan of several steps, which run one after the other."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from nnapi.contract.driver import Handle, LoopTimeoutError, OpenOptions, Outcome, Request
from nnapi.contract.handles import Openable, open_handle
from nnapi.errors import MissedDeadlineTransientError, need_value
from nnapi.model.model import Lifetime
from nnapi.model.operand import Array
from nnapi.runtime.planning.plan import If, Plan, Run, Step

Prepare = Callable[[Plan, Run], Openable]
Execute = Callable[[Request], Outcome]


class PreparedPlan:
    """The steps of a plan; ``prepare`` prepares each partition."""

    def __init__(self, plan: Plan, prepare: Prepare) -> None:
        self.plan = plan
        self._constants = {o.index: o.value for o in plan.model.operands if o.lifetime == Lifetime.CONSTANT}
        self._steps = [_prepare_step(plan, step, prepare) for step in plan.steps]

    def open_handle(self, options: OpenOptions) -> Handle:
        return Handle(self.execute, self.open_handle)

    def execute(self, request: Request) -> Outcome:
        model = self.plan.model
        values: dict[int, Array | None] = dict(self._constants)
        values.update(zip(model.inputs, request.inputs, strict=True))
        for step in self._steps:
            if request.deadline is not None and time.monotonic_ns() > request.deadline:
                raise MissedDeadlineTransientError("the time limit passed between two steps")
            inputs = [values.get(index) for index in step.inputs]
            values.update(zip(step.outputs, step.run(step, inputs, request), strict=True))
        return Outcome([_need_own(values[index]) for index in model.outputs])


class _ReadyStep(NamedTuple):
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    parts: Sequence[Execute]
    run: "Callable[[_ReadyStep, Sequence[Array | None], Request], Sequence[Array]]"


def _prepare_step(plan: Plan, step: Step, prepare: Prepare) -> _ReadyStep:
    if isinstance(step, Run):
        return _ReadyStep(step.inputs, step.outputs, [open_handle(prepare(plan, step)).execute], _run_part)
    if isinstance(step, If):
        branches = [PreparedPlan(each, prepare).execute for each in (step.then, step.otherwise)]
        return _ReadyStep((step.condition, *step.inputs), step.outputs, branches, _run_branch)
    loop = [PreparedPlan(each, prepare).execute for each in (step.condition, step.body)]
    return _ReadyStep(step.inputs, step.outputs, loop, _run_loop)


def _run_part(step: _ReadyStep, inputs: Sequence[Array | None], request: Request) -> Sequence[Array]:
    (part,) = step.parts
    return part(Request(inputs, request.deadline, request.loop_timeout)).outputs


def _run_branch(step: _ReadyStep, inputs: Sequence[Array | None], request: Request) -> Sequence[Array]:
    then, otherwise = step.parts
    branch = then if _read_condition(inputs[0]) else otherwise
    return branch(Request(inputs[1:], request.deadline, request.loop_timeout)).outputs


def _run_loop(step: _ReadyStep, inputs: Sequence[Array | None], request: Request) -> Sequence[Array]:
    """Run a loop. As in NNAPI's plan, the time is checked before the condition's value: a loop that has just ended may
    be too late. The reference, like NNAPI's CPU executor, checks it only if the loop goes on."""
    condition, body = step.parts
    end = time.monotonic_ns() + request.loop_timeout
    state = list(inputs)
    while True:
        turn = Request(state, request.deadline, request.loop_timeout)
        goes_on = _read_condition(condition(turn).outputs[0])
        if time.monotonic_ns() > end:
            raise LoopTimeoutError(f"the loop ran longer than {request.loop_timeout} ns, its limit by set_loop_timeout")
        if not goes_on:
            return [_need_own(array) for array in state[: len(step.outputs)]]
        results = body(turn).outputs
        state[: len(results)] = results


def _read_condition(condition: Array | None) -> bool:
    return bool(need_value(condition, "the condition of control flow is omitted").reshape(-1)[0])


def _need_own(array: Array | None) -> Array:
    array = need_value(array, "an omitted operand became an output")
    return array if array.flags.owndata and array.flags.writeable else np.array(array)
