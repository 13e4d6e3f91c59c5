"""The active plan: how it is opened, and changes during runs."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Device, Model, compile, tensor
from nnapi.contract.driver import Handle, OpenOptions, Outcome, Prepared, PrepareOptions, Request
from nnapi.runtime.executors.active_plan import ActivePlan
from nnapi.runtime.executors.prepared_partitions import prepare_plan
from tests.runtime.device_cases import GIVEN, Scripted, as_it_is, chain

SEVENS = np.full((2, 2), 7, np.float32)


def dynamic() -> Model:
    b = Builder("dynamic")
    b.output(b.abs(b.input(tensor("float32", (0, 2)))))
    return b.finish()


class Opening(Scripted):
    """A driver whose fast path returns 7; it notes the options of its handles."""

    def __init__(self) -> None:
        super().__init__(as_it_is, "opening")
        self.opened: list[OpenOptions] = []

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        prepared: Any = super().prepare(model, options)

        def open_handle(options: OpenOptions) -> Handle:
            self.opened.append(options)
            call = None if options.shapes is None else lambda inputs: [SEVENS]
            return Handle(prepared.execute, open_handle, call)

        prepared.open_handle = open_handle
        opening: Prepared = prepared
        return opening


@pytest.mark.parametrize(("model", "shapes"), [(chain(), [(2, 2)]), (dynamic(), None)])
def test_it_is_opened_for_the_declared_shapes(model: Model, shapes: Any) -> None:
    driver = Opening()
    active = compile(model, Device(driver)).need_active()
    assert driver.opened == [OpenOptions(shapes)]
    assert (active.fast_path is None, active.fast_paths is None) == (shapes is None, shapes is not None)
    assert active.observer is None


def test_runs_are_reported_to_the_observer() -> None:
    noted: list[Any] = []
    observer: Any = SimpleNamespace(threads=1, observe=lambda inputs, outputs, *times: noted.append(outputs) or 0.0)
    model = chain()
    ready = compile(model, Device(Opening())).need_active().ready
    active = ActivePlan(model, ready, observer)
    assert active.fast_path is not None
    active.fast_path([GIVEN])
    active.handle.execute(Request([GIVEN]))
    assert len(noted) == 2


def test_a_plan_that_takes_over_during_a_run_keeps_its_own_fast_path() -> None:
    """The run before found a fast path for its shapes; it belongs to the plan before."""
    first, second = Opening(), Opening()
    model = dynamic()
    compilation = compile(model, Device(first))
    winner = prepare_plan(compilation.plan, [Device(second)], PrepareOptions(), None)

    def change(request: Request, inner: Prepared) -> Outcome:
        compilation.use(winner, None)
        return inner.execute(request)

    first._execute = change
    compilation.run(GIVEN)
    assert compilation.need_active().fast_path is None
    compilation.run(GIVEN)
    compilation.run(GIVEN)
    assert [len(driver.requests) for driver in (first, second)] == [1, 1]
    assert second.opened == [OpenOptions(), OpenOptions([(2, 2)])]
