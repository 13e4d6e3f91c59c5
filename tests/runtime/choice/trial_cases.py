"""Devices whose runs move a clock, and a tuner that takes a step when it is asked to."""

from collections import deque
from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import numpy as np

from nnapi import Builder, Compilation, Device, Model, compile, device, tensor
from nnapi.contract.driver import Capabilities, Outcome, Performance, Prepared, PrepareOptions, Request
from nnapi.drivers.limited import Limited
from nnapi.runtime.choice import tuner
from nnapi.runtime.choice.paired_times import Evidence, Standing
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import Comparison, Record
from nnapi.runtime.choice.schedule import Stage
from nnapi.runtime.choice.trial import Trial, _Work
from nnapi.runtime.executors.prepared_partitions import ReadyPlan
from nnapi.runtime.planning.plan import Explanation, Plan, run_everything_on

X = np.array([[1, 2], [3, 4]], np.float32)


class Clock:
    """Takes the place of the module time."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Fake(Limited):
    """The reference under another name: runs take ``seconds``, results are multiplied by ``factor``."""

    def __init__(self, clock: Clock, name: str, seconds: float, declared: float, factor: float = 1.0) -> None:
        performance = Performance(declared, declared)
        super().__init__(
            device("nnapi-reference").driver, name, declared=Capabilities(performance, relaxed=performance)
        )
        self.clock, self.seconds, self.factor = clock, seconds, factor
        self.prepared = 0
        self.runs = 0
        self.variants: list[str] = []
        self.predicted = ""
        self.error: Exception | None = None
        self.times: dict[str, float] = {}

    def list_variants(self, model: Model) -> Sequence[str]:
        return self.variants

    def predict_variant(self, model: Model) -> str:
        return self.predicted

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        self.prepared += 1
        return _Prepared(super().prepare(model, options), self, self.times.get(options.variant))


class _Prepared:
    def __init__(self, inner: Prepared, fake: Fake, seconds: float | None) -> None:
        self._inner, self._fake, self._seconds = inner, fake, seconds

    def execute(self, request: Request) -> Outcome:
        self._fake.runs += 1
        self._fake.clock.now += self._seconds or self._fake.seconds
        if self._fake.error is not None and not self._seconds:
            raise self._fake.error
        outputs = self._inner.execute(request).outputs
        return Outcome([np.asarray(array * array.dtype.type(self._fake.factor)) for array in outputs])

    def close(self) -> None:
        self._inner.close()


def has_trial(compilation: Compilation) -> bool:
    return compilation._trial is not None


class Machine:
    """Two devices, of which the first is predicted to be faster, and the tuner."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.first = Fake(clock, "first", 1e-3, 0.01)
        self.second = Fake(clock, "second", 0.5e-3, 0.02)
        self.devices = [Device(self.first), Device(self.second)]

    def compile(self, model: Model | None = None, **options: object) -> Compilation:
        return compile(model or network(), self.devices, **options)  # type: ignore[arg-type]

    def trial(self, compilation: Compilation) -> Trial:
        assert compilation._trial is not None
        return compilation._trial

    def begin(self, compilation: Compilation) -> Trial:
        """Run once, and let the tuner prepare all challengers."""
        compilation.run(X)
        self.clock.now += 1
        found = self.trial(compilation)
        for _ in range(4):
            tuner.TUNER.step()
        assert found.stage is not Stage.WAITING
        return found

    def use(self, compilation: Compilation, runs: int = 60) -> None:
        """Run again and again, without gaps; the tuner takes a step now and then."""
        for number in range(runs):
            compilation.run(X)
            if number % 5 == 4:
                tuner.TUNER.step()


def network() -> Model:
    """Two operations."""
    b = Builder("network")
    b.output(b.mul(b.add(b.input(tensor("float32", (2, 2))), X), X))
    return b.finish()


EXPECTED = (X + X) * X


MODEL = network()


def plan_on(device: str, seconds: float = 1e-3, threads: int | None = 1) -> Plan:
    return Plan(MODEL, (run_everything_on(MODEL, device),), lambda: Explanation((), seconds)).on_threads(threads)


def make(machine: Machine, comparisons: Sequence[Comparison] = (), **more: Any) -> Trial:
    """A trial of a plan on "first", without runs."""
    record = Record("predicted", "first", "", "", 2, 1, 0.0, None, comparisons) if comparisons else None
    question = Question(MODEL, machine.devices, PrepareOptions())
    return Trial(question, ReadyPlan(plan_on("first"), Mock()), record, **more)


class Rival:
    """A challenger with given evidence."""

    def __init__(
        self, name: str, logs: Sequence[float] = (), standing: Standing = Standing.ON_TRIAL, **more: Any
    ) -> None:
        self.name, self.plan, self.standing, self.reason = name, plan_on(name, 2e-3), standing, ""
        self.evidence = Evidence(logs)
        self.promise, self.price, self.cost, self.seconds = 0.0, 0.0, 0.0, 1e-3
        self.ready: Any = ReadyPlan(self.plan, Mock())
        self.dropped = False
        vars(self).update(more)

    @property
    def is_on_trial(self) -> bool:
        return self.standing is Standing.ON_TRIAL and not self.dropped

    @property
    def is_faster(self) -> bool:
        return self.standing is Standing.FASTER and self.ready is not None

    @property
    def log_gain(self) -> float:
        return self.evidence.log_gain

    def drop(self) -> None:
        self.dropped = True

    def close(self) -> None: ...

    def describe(self) -> Comparison:
        return Comparison(self.name, 2e-3, self.evidence.logs, self.standing, self.reason)


def among(trial: Trial, *rivals: Rival) -> Trial:
    """The trial while it compares these."""
    trial.schedule.contenders = list(rivals)  # type: ignore[arg-type]
    trial.schedule.stage = Stage.COMPARING
    trial._work = _Work(trial.question, [X], 1e-3, [X], deque(), deque())
    return trial


def work_of(trial: Trial) -> _Work:
    assert trial._work is not None
    return trial._work
