"""Compilations of functions, and a clock that only they move."""

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.contract.driver import Bound, Outcome, PrepareOptions, Request
from nnapi.model.dynamic_model import SizedModel
from nnapi.runtime.specializations import Specializations
from nnapi.shapes.symbols import Symbols


class Compiled:
    """Stands for a compilation of a function."""

    def __init__(self, function: Any, *devices: str) -> None:
        self.plan, self.model = SimpleNamespace(devices=devices), nnapi.Model()
        self.run = lambda *inputs: [function(*inputs)]
        self.is_pinned = False

    def burst(self) -> Any:
        return self

    def bind(self, *shapes: Any) -> Bound:
        memory = [np.zeros(shape, np.int32 if i else np.float32) for i, shape in enumerate(shapes)]  # values, mask
        run = self.run
        return Bound(memory, lambda: run(*memory))

    def pin(self) -> None:
        self.is_pinned = True

    def explain(self) -> str:
        return "all of it here"


class Clocked:
    """A clock, and compilations of a function that take a second; for all sizes too, whose runs take 0.1 seconds."""

    def __init__(self, function: Any, monkeypatch: pytest.MonkeyPatch, cost: float = 1.0) -> None:
        self.now, self.cost, self.function, self.broken = 0.0, cost, function, False
        self.log: list[Any] = []
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        symbols = Symbols()
        sized = SizedModel(nnapi.Model(), symbols, lambda shapes: [], lambda shapes: "")
        self.found = Specializations(self.compile, describe_sized=lambda shapes: sized)

    def compile(self, shapes: Any, device: str | None, is_cached: bool) -> Any:
        self.now += self.cost
        self.log.append(shapes[0])
        compiled: Any = Compiled(self.function)
        compiled.candidates = [SimpleNamespace(name="all-sizes", driver=self)]
        compiled.options = PrepareOptions()
        return compiled

    def prepare_dynamic(self, model: Any, options: PrepareOptions) -> Any:
        self.now += self.cost
        self.log.append("all sizes")
        return self

    def execute(self, request: Request) -> Outcome:
        self.now += 0.1
        if self.broken:
            raise RuntimeError("not this shape")
        return Outcome([self.function(*request.inputs)])

    def run(self, *sizes: int) -> None:
        for size in sizes:
            array = np.arange(1, size + 1, dtype=np.float32)
            np.testing.assert_array_equal(self.found.run([array])[0], self.function(array))
