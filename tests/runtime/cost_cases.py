"""A driver whose operations take exactly so long, by a clock that only it moves."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nnapi import Device, DeviceTypeCode, Model
from nnapi.drivers.base import Capabilities, DeviceInfo, Outcome, PrepareOptions, Request, Verdict
from nnapi.errors import OpFailedError
from nnapi.runtime.costs.cost_tables import Cost
from nnapi.runtime.costs.workload import Kind, find_work

LAUNCH, BYTE = 3e-6, 2e-11


class Clock:
    """What stands in for the module time."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@dataclass
class Exact:
    """Takes every operation but those of ``refused`` kinds; those of ``broken`` kinds fail when they run.

    Making a model ready takes ``making`` seconds, the first ``loading`` more.
    """

    clock: Clock
    costs: dict[Kind, Cost] = field(default_factory=dict)
    refused: Sequence[Kind] = ()
    broken: Sequence[Kind] = ()
    type: DeviceTypeCode = DeviceTypeCode.DEVICE_ACCELERATOR
    name: str = "exact"
    version: str = "1"
    slower: float = 1.0
    making: float = 0.0
    loading: float = 0.0
    runs: int = 0
    threads: list[int | None] = field(default_factory=list)

    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo(self.name, self.version, self.type, 8)

    def capabilities(self) -> Capabilities:
        return Capabilities()

    def verdicts(self, model: Model) -> list[Verdict]:
        kinds = [find_work(model, call).kind for call in model.operations]
        return [Verdict(False, f"no {kind}") if kind in self.refused else Verdict(True) for kind in kinds]

    def prepare(self, model: Model, options: PrepareOptions) -> "_Prepared":
        self.clock.now += self.making if self.threads else self.making + self.loading
        self.threads.append(options.threads)
        return _Prepared(self, model)


class _Prepared:
    def __init__(self, driver: Exact, model: Model) -> None:
        self._driver, self._model = driver, model

    def execute(self, request: Request) -> Outcome:
        driver, model = self._driver, self._model
        driver.runs += 1
        works = [find_work(model, call) for call in model.operations]
        if any(work.kind in driver.broken for work in works):
            raise OpFailedError("out of order")
        seconds = sum(driver.costs.get(work.kind, Cost(1e-6, 1e-11, 1e-11)).seconds(work) for work in works)
        ends = [model.operands[index].type for index in (*model.inputs, *model.outputs)]
        driver.clock.now += driver.slower * (LAUNCH + BYTE * sum(type.nbytes for type in ends) + seconds)
        return Outcome([np.zeros(type.dimensions, type.dtype) for type in ends[len(model.inputs) :]])

    def close(self) -> None:
        pass


def exact(clock: Clock, **more: object) -> tuple[Device, Exact]:
    driver = Exact(clock, **more)  # type: ignore[arg-type]
    return Device(driver), driver
