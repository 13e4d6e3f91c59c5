"""Devices whose runs move a clock, and a tuner that takes a step when it is asked to."""

from collections.abc import Sequence

import numpy as np

from nnapi import Builder, Compilation, Device, Model, compile, device, tensor
from nnapi.drivers.base import Capabilities, Outcome, Performance, Prepared, PrepareOptions, Request
from nnapi.drivers.limited import Limited
from nnapi.runtime.choice import tuner
from nnapi.runtime.choice.trial import Stage, Trial

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
            tuner._tuner.step()
        assert found.stage is not Stage.WAITING
        return found

    def use(self, compilation: Compilation, runs: int = 60) -> None:
        """Run again and again, without gaps; the tuner takes a step now and then."""
        for number in range(runs):
            compilation.run(X)
            if number % 5 == 4:
                tuner._tuner.step()


def network() -> Model:
    """Two operations."""
    b = Builder("network")
    b.output(b.mul(b.add(b.input(tensor("float32", (2, 2))), X), X))
    return b.finish()


EXPECTED = (X + X) * X
