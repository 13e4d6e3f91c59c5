"""``compile(start="soon")``: the plan that is ready first answers until the one that is chosen is ready as well."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

from nnapi.codes import PreferenceCode
from nnapi.drivers.base import PrepareOptions
from nnapi.errors import BadDataError, need
from nnapi.model.model import Model
from nnapi.runtime.autotune.measurements import make_key, recall_measurements
from nnapi.runtime.background import Background
from nnapi.runtime.device import Device
from nnapi.runtime.executors.parts import ClaimedError, Guard, ReadyPlan, prepare_plan
from nnapi.runtime.preparation import make_guard
from nnapi.runtime.settings import Partitioning, settings, tunes
from nnapi.trace.log import Log

log = Log("nnapi.CompilationBuilder")

DELAY = 0.25
"""Seconds after which the choice begins, so that the first answer comes before."""
FIRST = "this plan was ready first: it answers until the one that is chosen is ready, in the background"
CHANGED = "it took over in the background from the plan that was ready first: {}"

Prepare = Callable[..., ReadyPlan]
"""Takes the ``guard`` that every part is shown."""


class Soon:
    """Prepares what is ready first, and what is chosen after that, on a thread of its own."""

    def __init__(self, start: str) -> None:
        need(start == "soon", f"start is {start!r}, must be 'soon' or None", BadDataError)
        self._first: ReadyPlan | None = None
        self.change_over: ChangeOver | None = None
        """What makes the choice, where there is one."""

    def prepare(
        self, model: Model, devices: Sequence[Device], options: PrepareOptions, mode: Partitioning
    ) -> ReadyPlan | None:
        """The plan for devices that start at once, whatever is faster.

        None where they do not take the model, or where the choice is as quick: there is nothing to choose from, or it
        was made before and is such a device.
        """
        quick = _find_quick(model, devices, options) if mode is not Partitioning.NONE else []
        if not quick:
            return None
        from nnapi.runtime.costs.thread_choice import find_tables
        from nnapi.runtime.planning.planner import make_first_plan, make_plan

        tables = find_tables(quick, options.threads or 1, measures=False)
        try:
            plan = make_first_plan(model, quick, options.preference, tables, slower=False)
            plan = plan or make_plan(model, quick, options.preference, tables=tables)
        except BadDataError:
            return None
        try:
            guard = make_guard(devices, mode)
            self._first = prepare_plan(plan.with_notes((FIRST,)), quick, options, None, guard)
        except ClaimedError as claim:
            log.warning("%s", claim)
        return self._first

    def begin(self, choose: Prepare, take: Callable[[ReadyPlan], None]) -> None:
        """Choose in the background; ``take`` is given what was chosen, a method of an object that may be gone then."""
        first = self._first.plan.devices[0] if self._first else ""

        def choose_and_say(guard: Guard) -> ReadyPlan:
            ready = choose(guard=guard)
            return ready._replace(plan=ready.plan.with_notes((*ready.plan.notes, CHANGED.format(first))))

        self.change_over, self._first = ChangeOver(choose_and_say, take), None

    def stop(self) -> None:
        """Let nothing take over any more."""
        if self.change_over is not None:
            self.change_over.stop()


def _find_quick(model: Model, devices: Sequence[Device], options: PrepareOptions) -> list[Device]:
    """The devices that start at once, where it is not known that one of them is to be chosen."""
    usable = [device for device in devices if not device.is_out]
    quick = [device for device in usable if not device.starts_slowly]
    if len(usable) < 2 or not tunes() or options.preference == PreferenceCode.PREFER_LOW_POWER:
        return []
    known = recall_measurements(make_key(model, usable, options))
    is_quick = known.choice is not None and known.choice.device in [device.name for device in quick]
    return [] if is_quick and known.is_settled else quick


class ChangeOver:
    """Chooses in the background, and hands over what was made ready, unless it is stopped before."""

    def __init__(self, prepare: Prepare, take: Callable[[ReadyPlan], None]) -> None:
        """``take`` is a method of an object that may be gone by then."""
        self._prepare, self._take = prepare, weakref.WeakMethod(take)
        self._background = Background(self._work, "nnapi-choice")
        self.stop, self.wait = self._background.stop, self._background.wait

    def _work(self, background: Background) -> None:
        background.sleep(DELAY)
        try:
            with settings(tuning=True):
                ready = self._prepare(guard=background.guard)
        except Exception as error:
            log.warning("the plan that was ready first stays: %s", error)
            return
        take = self._take()
        if take is not None and not background.is_stopped:
            take(ready)
